import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def _turn(pairs, pairing, work):
    """A matrix that takes features to minus the second and plus the first of their pairs."""
    a, b = base.pair_slices(pairs, pairing)
    places = np.arange(2 * pairs)
    matrix = np.zeros((2 * pairs, 2 * pairs), dtype=work)
    matrix[places[b], places[a]] = -1
    matrix[places[a], places[b]] = 1
    return matrix


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = base.check_rotary(x, cos, sin, pairing)
    work, pairs = base.work_dtype(x), cos.shape[2]
    a, b = base.pair_slices(pairs, pairing)
    c = np.empty((*cos.shape[:2], 2 * pairs), dtype=work)
    s = np.empty_like(c)
    c[..., a] = c[..., b] = cos
    s[..., a] = s[..., b] = sin
    turning = x[..., : 2 * pairs].astype(work)
    output = np.array(x, order="C", copy=True)
    with np.errstate(all="ignore"):
        partner = turning @ _turn(pairs, pairing, work)
        output[..., : 2 * pairs] = (turning * c[:, None] + partner * s[:, None]).astype(x.dtype)
    return {"output": output}
