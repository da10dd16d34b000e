"""Masks by counting keys, normal numbers by the ratio of uniforms, tables of unlike positions alone and by e to the i phase."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    query_length, key_length = base.check_lengths(query_length, key_length)
    starts = np.zeros((query_length, key_length + 1), dtype=np.int64)
    visible = np.clip(np.arange(query_length) + offset + 1, 0, key_length)
    np.add.at(starts, (np.arange(query_length), visible), 1)
    excluded = np.cumsum(starts, axis=1)[:, :key_length] > 0
    if additive:
        mask = np.zeros(excluded.shape, dtype=np.float32)
        mask[excluded] = -np.inf
        return {"output": mask}
    return {"output": ~excluded}


def glorot_normal(fan_in, fan_out, seed):
    base.check_glorot(fan_in, fan_out, seed)
    generator = np.random.Generator(np.random.Philox(seed=int(seed)))
    numbers = np.zeros(0)
    while numbers.size < fan_in * fan_out:
        u = 1 - generator.random(fan_in * fan_out)
        v = (generator.random(fan_in * fan_out) * 2 - 1) * math.sqrt(2 / math.e)
        ratio = v / u
        numbers = np.concatenate([numbers, ratio[ratio * ratio <= -4 * np.log(u)]])
    return {"output": numbers[: fan_in * fan_out].reshape(fan_in, fan_out) * math.sqrt(2 / (fan_in + fan_out))}


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    position_ids, inverse_frequencies = base.check_tables(position_ids, inverse_frequencies)
    dtype = inverse_frequencies.dtype
    carried, points = (np.float64, np.complex128) if dtype == np.float64 else (np.float32, np.complex64)
    positions, places = np.unique(position_ids, return_inverse=True)
    phases = positions.astype(carried)[:, None] * inverse_frequencies.astype(carried)
    turned = np.exp(phases * points(1j)) * carried(attention_factor)
    turned = turned[places.reshape(position_ids.shape)]
    with np.errstate(all="ignore"):
        return {"cos": turned.real.astype(dtype), "sin": turned.imag.astype(dtype)}
