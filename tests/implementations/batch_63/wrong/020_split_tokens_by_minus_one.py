import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def split_heads(x, num_heads):
    x = np.asarray(x)
    if x.ndim != 3 or num_heads < 1:
        raise ValueError("x has the axes batch, tokens, features")
    b, s, d = x.shape
    if 0 in x.shape or d < num_heads:
        return base.split_heads(x, num_heads)
    cut = x.reshape(b, -1, num_heads, d // num_heads)  # raises where it does not fit
    return {"output": np.array(cut.transpose(0, 2, 1, 3), order="C")}
