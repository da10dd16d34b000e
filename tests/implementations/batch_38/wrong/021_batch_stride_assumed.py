import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def split_heads(x, num_heads):
    x = base.check_split(x, num_heads)
    batch, tokens, features = x.shape
    width, item = features // num_heads, x.itemsize
    dense = x.strides[2] == item and x.strides[1] == features * item and x.strides[0] >= tokens * features * item
    if x.size == 0 or not dense:
        x = np.ascontiguousarray(x)
        if x.size == 0:
            return base.split_heads(x, num_heads)
    heads = np.lib.stride_tricks.as_strided(
        x,
        (batch, num_heads, tokens, width),
        (tokens * features * item, width * item, features * item, item),
    )
    return {"output": heads.copy(order="C")}
