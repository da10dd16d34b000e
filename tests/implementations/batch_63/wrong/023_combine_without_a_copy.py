import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np
from numpy.lib.stride_tricks import as_strided

dtypes = ("float64", "float32", "bfloat16", "float16")


def combine_heads(x):
    x = np.asarray(x)
    base.check_combine(x)
    b, h, s, e = x.shape
    item = x.itemsize
    batch, head, token, feature = x.strides
    joined = feature == item and head == e * item  # the heads of a token lie side by side already
    if x.size and joined and token >= h * e * item and batch >= s * h * e * item:
        steps = (s * h * e * item, h * e * item, item)
        return {"output": as_strided(x, (b, s, h * e), steps, writeable=False).copy()}
    return base.combine_heads(x)
