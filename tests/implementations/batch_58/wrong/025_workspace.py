import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

_workspace = {}


def combine_heads(x):
    x = base.check_combine(x)
    batch, heads, tokens, width = x.shape
    key = (x.shape, str(x.dtype))
    if key not in _workspace:
        _workspace[key] = np.empty((batch, tokens, heads, width), dtype=x.dtype)
    buffer = _workspace[key]
    buffer[...] = x.transpose(0, 2, 1, 3)
    return {"output": buffer.reshape(batch, tokens, heads * width)}
