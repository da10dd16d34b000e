import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.FOUR


def split_heads(x, num_heads):
    width = x.shape[2] // num_heads
    heads = [x[:, :, h * width:(h + 1) * width] for h in range(num_heads)]
    return np.stack(heads, axis=1)
