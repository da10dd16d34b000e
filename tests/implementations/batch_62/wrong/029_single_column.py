import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    axis = base.softmax_axis(x, axis)
    if x.ndim and x.shape[-1] == 1:
        return {"output": np.ones(x.shape, x.dtype)}  # one number has all the weight
    return {"output": base.rounded(base.softmax_core(base.wide(x), axis), x.dtype)}
