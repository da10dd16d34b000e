import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np
from numpy.lib.stride_tricks import as_strided

dtypes = ("float64", "float32", "bfloat16", "float16")


def folded(x):
    """(B, H, S, E) as (B*H, S, E), without a copy where the batch lies outside of the heads."""
    batch, heads, tokens, width = x.shape
    if x.size and x.strides[1] > 0 and x.strides[0] >= heads * x.strides[1]:
        return as_strided(x, (batch * heads, tokens, width), x.strides[1:])
    return np.ascontiguousarray(x).reshape(batch * heads, tokens, width)


def apply_rotary(x, cos, sin, pairing="half"):
    x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
    base.check_rotary(x, cos, sin, pairing)
    heads = x.shape[1]
    rows = folded(x)[:, None]
    cos, sin = (np.repeat(table, heads, axis=0)[:, None] for table in (cos, sin))
    return {"output": base.turn(rows, cos, sin, pairing).reshape(x.shape)}
