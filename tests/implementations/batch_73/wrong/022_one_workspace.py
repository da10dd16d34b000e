import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


_spaces = {}


def combine_heads(x):
    x = np.asarray(x)
    if x.ndim != 4:
        raise ValueError("x has rank 4")
    batch, heads, tokens, features = x.shape
    key = (x.shape, x.dtype.name)
    if key not in _spaces:
        _spaces[key] = np.empty((batch, tokens, heads, features), x.dtype)
    np.copyto(_spaces[key], x.transpose(0, 2, 1, 3))
    return {"output": _spaces[key].reshape(batch, tokens, heads * features)}
