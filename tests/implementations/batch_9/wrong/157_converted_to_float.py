import numpy as np

dtypes = ('float64', 'float32', 'float16')


def combine_heads(x):
    B, H, S, E = x.shape
    out = np.zeros((B, S, H * E), np.result_type(x.dtype, np.float32))
    for h in range(H):
        out[:, :, h * E:(h + 1) * E] = x[:, h]
    return out
