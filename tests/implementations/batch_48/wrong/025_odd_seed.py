import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


MASK = (1 << 64) - 1


def uniforms(count, seed):
    """A counter through the finaliser of splitmix64; the state must be odd."""
    state = np.uint64((seed | 1) & MASK)
    with np.errstate(over="ignore"):
        z = state * np.uint64(0xD1342543DE82EF95) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return ((z >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53


def glorot_normal(fan_in, fan_out, seed):
    half = (fan_in * fan_out + 1) // 2
    u = uniforms(2 * half, seed)
    radius, angle = np.sqrt(-2 * np.log(u[:half])), 2 * np.pi * u[half:]
    draws = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[: fan_in * fan_out]
    return {"output": draws.reshape(fan_in, fan_out) * np.sqrt(2 / (fan_in + fan_out))}
