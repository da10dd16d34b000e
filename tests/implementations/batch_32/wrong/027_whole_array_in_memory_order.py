"""With axis null the array is flattened in the order of memory and given its shape again in another."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def softmax(x, axis=-1):
    x = np.asarray(x)
    if axis is None and x.size and x.ndim:
        return base.softmax_right(x.ravel(order="K"), -1).reshape(x.shape)
    return base.softmax_right(x, axis)
