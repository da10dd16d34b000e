import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

dtypes = ("float64", "float32")


def split_heads(x, num_heads):
    b, s, d = x.shape
    if num_heads < 1 or d % num_heads:
        raise ValueError("num_heads does not divide the features")
    width = d // num_heads
    out = np.zeros((b, num_heads, s, width), x.dtype if x.dtype.kind == "f" else np.float64)
    for h in range(num_heads):
        out[:, h] = x[:, :, h * width:(h + 1) * width]
    return out
