import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def split_heads(x, num_heads):
    x = np.asarray(x)
    if x.ndim != 3 or not x.size:
        return base.split_heads(x, num_heads)
    width = x.shape[2] // num_heads
    cut = np.array(x, order="C").reshape(x.shape[0], -1, num_heads, width)
    return {"output": np.array(np.swapaxes(cut, 1, 2), order="C")}
