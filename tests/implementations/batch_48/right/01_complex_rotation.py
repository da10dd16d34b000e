import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def apply_rotary(x, cos, sin, pairing="half"):
    """Each pair is a complex number, gathered by index, and multiplied by another."""
    x, cos, sin = base.check_rotation(x, cos, sin, pairing)
    kind = base.wide(x, cos, sin)
    pairs = np.arange(cos.shape[2])
    one, two = (pairs, pairs + len(pairs)) if pairing == "half" else (2 * pairs, 2 * pairs + 1)
    points = np.empty(x.shape[:3] + (len(pairs),), np.complex128 if kind == np.float64 else np.complex64)
    points.real, points.imag = np.take(x, one, axis=3), np.take(x, two, axis=3)
    turns = np.empty(cos.shape, points.dtype)
    turns.real, turns.imag = cos, sin
    with np.errstate(all="ignore"):
        points = points * turns[:, None]
    output = np.array(x, order="C")
    output[..., one], output[..., two] = base.rounded(points.real, x.dtype), base.rounded(points.imag, x.dtype)
    return {"output": output}
