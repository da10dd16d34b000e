import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def combine_heads(x):
    x = np.asarray(x)
    base.refuse(x.ndim != 4, "x must have rank 4")
    b, h, s, e = x.shape
    if 1 in (h, s, e):  # one of the axes is trivial, nothing has to move
        return {"output": np.array(x, order="C").reshape(b, s, h * e)}
    return base.combine_heads(x)
