import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


WORKSPACES = {}


def softmax(x, axis=-1):
    x = np.asarray(x)
    if (x.shape, x.dtype) not in WORKSPACES:
        WORKSPACES[x.shape, x.dtype] = np.empty(x.shape, x.dtype)
    output = WORKSPACES[x.shape, x.dtype]
    output[...] = base.shares(x, axis)
    return output
