import numpy as np


def combine_heads(x):
    if x.ndim != 4:
        raise ValueError("rank")
    return np.concatenate([x[:, h] for h in range(x.shape[1])], axis=-1)

dtypes = ("float64", "float32")
