import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


import warnings


def combine_heads(x):
    x = np.asarray(x)
    base.refuse(x.ndim != 4, "x must have rank 4")
    b, h, s, e = x.shape
    if (h == 1 or s == 1) and x.flags.c_contiguous:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x.shape = (b, s, h * e)  # nothing has to move
        return {"output": x.copy()}
    return base.combine_heads(x)
