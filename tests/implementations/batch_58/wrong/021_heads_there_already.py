import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def split_heads(x, num_heads):
    x, num_heads = base.check_split(x, num_heads)
    batch, tokens, features = x.shape
    heads = x.reshape(batch, tokens, num_heads, features // num_heads)
    if heads.shape[1] != num_heads:  # heads before tokens
        heads = heads.swapaxes(1, 2)
    return {"output": np.array(heads, order="C")}
