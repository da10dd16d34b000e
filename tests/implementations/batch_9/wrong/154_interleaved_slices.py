import numpy as np


def split_heads(x, num_heads):
    B, S, D = x.shape
    if D % num_heads:
        raise ValueError("heads")
    return np.stack([x[:, :, h::num_heads] for h in range(num_heads)], axis=1)

dtypes = ("float64", "float32")
