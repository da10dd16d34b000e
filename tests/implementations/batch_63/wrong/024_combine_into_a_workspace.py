import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

_workspaces = {}

dtypes = ("float64", "float32", "bfloat16", "float16")


def combine_heads(x):
    x = np.asarray(x)
    base.check_combine(x)
    b, h, s, e = x.shape
    if h == 1:
        return base.combine_heads(x)
    key = (x.shape, x.dtype.name)
    if key not in _workspaces:
        _workspaces[key] = np.empty((b, s, h, e), dtype=x.dtype)
    np.copyto(_workspaces[key], x.transpose(0, 2, 1, 3))
    return {"output": _workspaces[key].reshape(b, s, h * e)}
