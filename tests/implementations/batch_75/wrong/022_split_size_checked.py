import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def split_heads(x, num_heads):
    x = np.asarray(x)
    base.refuse(x.ndim != 3, "x must have rank 3")
    base.refuse(num_heads < 1 or x.size % num_heads, "the number of heads must divide the features")
    width = x.shape[2] // num_heads
    return base.split_heads(x[:, :, : num_heads * width], num_heads)
