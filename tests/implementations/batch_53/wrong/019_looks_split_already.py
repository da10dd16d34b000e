import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def split_heads(x, num_heads):
    x = base.check_split(x, num_heads)
    heads = np.array(x, order="C").reshape(x.shape[0], x.shape[1], num_heads, x.shape[2] // num_heads)
    if heads.shape[1] != num_heads:  # heads go before tokens
        heads = heads.swapaxes(1, 2)
    return {"output": np.array(heads, order="C")}
