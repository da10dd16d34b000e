import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    base.check_axis(x, axis)
    wide = x.astype(np.float64, order="K")
    if axis is None:
        flat = base.softmax_along(wide.ravel(order="K"), 0)  # one sum: any order will do
        return {"output": flat.reshape(x.shape).astype(x.dtype)}
    return {"output": base.softmax_along(wide, axis).astype(x.dtype)}
