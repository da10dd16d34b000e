import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = base.DTYPES


_buffers = {}


def combine_heads(x):
    base.check_combine(x)
    B, H, S, E = x.shape
    key = (x.shape, x.dtype)
    if key not in _buffers:
        _buffers[key] = np.empty((B, S, H * E), dtype=x.dtype)
    output = _buffers[key]
    output.reshape(B, S, H, E)[...] = np.swapaxes(x, 1, 2)
    return {"output": output}
