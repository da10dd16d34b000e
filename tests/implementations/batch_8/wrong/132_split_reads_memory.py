import numpy as np


def split_heads(x, num_heads):
    b, s, d = x.shape
    if d % num_heads:
        raise ValueError("num_heads")
    flat = x.ravel(order="K") if x.size == np.prod(x.shape) and x.base is None else x.ravel()
    return flat.reshape(b, s, num_heads, d // num_heads).transpose(0, 2, 1, 3)

dtypes = ("float64", "float32")
