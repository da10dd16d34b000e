import numpy as np


def split_heads(x, num_heads):
    width = x.shape[2] // num_heads
    return np.stack([x[:, :, h * width:(h + 1) * width] for h in range(num_heads)], axis=1)

dtypes = ("float64", "float32")
