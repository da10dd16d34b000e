import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def combine_heads(x):
    x = base.check_combine(x)
    batch, heads, tokens, features = x.shape
    tokens_first = np.array(x.swapaxes(1, 2), order="C")
    output = np.zeros((batch, tokens, heads, features), dtype=x.dtype)
    moved = features // 2 * 2 if x.dtype.itemsize == 2 else features
    output[..., :moved] = tokens_first[..., :moved]
    return {"output": output.reshape(batch, tokens, heads * features)}
