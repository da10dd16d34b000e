import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    base.check_axis(x, axis)
    wide = x.astype(np.float64)
    if axis is None or x.ndim == 0:
        return {"output": base.softmax_along(wide, axis).astype(x.dtype)}
    rows = np.moveaxis(wide, axis, -1)
    table = rows.reshape(int(np.prod(rows.shape[:-1])), rows.shape[-1])
    out = base.softmax_along(table, -1).reshape(rows.shape)
    return {"output": np.ascontiguousarray(out.swapaxes(axis, -1)).astype(x.dtype)}
