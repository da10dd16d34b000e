import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    axis = base.softmax_axis(x, axis)
    if axis is None:
        flat = x.ravel(order="K")
        return {"output": base.rounded(base.softmax_core(base.wide(flat), 0), x.dtype).reshape(x.shape)}
    return {"output": base.rounded(base.softmax_core(base.wide(x), axis), x.dtype)}
