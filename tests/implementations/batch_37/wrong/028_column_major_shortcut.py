import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    if axis is not None and x.ndim > 1 and x.flags.f_contiguous and not x.flags.c_contiguous:
        turned = {-1: 0, 0: -1}.get(axis, axis)
        return {"output": base.soft(x.T.astype(np.float64), turned).T.astype(x.dtype)}
    return {"output": base.soft(x.astype(np.float64), axis).astype(x.dtype)}
