import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    wide = x.astype(np.float64)
    if axis is None:
        return {"output": base.soft(wide, None).astype(x.dtype)}
    rows = np.moveaxis(wide, axis, -1)
    return {"output": np.moveaxis(base.soft(rows, -1), axis, -1).astype(x.dtype)}
