import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = base.DTYPES


def apply_rotary(x, cos, sin, pairing="half"):
    """Pairs are complex numbers, turned by one complex product; the features are gathered and scattered by index."""
    base.check_rotary(x, cos, sin, pairing)
    pairs = cos.shape[2]
    work = base.working(x, cos, sin)
    number = np.complex128 if work == np.float64 else np.complex64
    index = np.arange(pairs)
    one, two = (index, index + pairs) if pairing == "half" else (2 * index, 2 * index + 1)
    points = np.empty((*x.shape[:3], pairs), dtype=number)
    points.real, points.imag = np.take(x, one, axis=3), np.take(x, two, axis=3)
    turns = np.empty(cos.shape, dtype=number)
    turns.real, turns.imag = cos, sin
    output = np.array(x, order="C", copy=True)
    with np.errstate(all="ignore"):
        points = points * turns[:, None]
        output[..., one] = points.real.astype(x.dtype)
        output[..., two] = points.imag.astype(x.dtype)
    return {"output": output}
