import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    axis = base.softmax_axis(x, axis)
    if x.dtype != base.HALF[0]:
        return {"output": base.rounded(base.softmax_core(base.wide(x), axis), x.dtype)}
    wide = x.astype(np.float32)
    rows = wide.reshape(1, -1) if axis is None else np.moveaxis(wide, axis, -1)
    with np.errstate(all="ignore"):
        power = np.exp(rows - rows.max(axis=-1, keepdims=True, initial=-np.inf))
        total = np.zeros(rows.shape[:-1], x.dtype)
        for i in range(rows.shape[-1]):
            total = (total.astype(np.float32) + power[..., i]).astype(x.dtype)
        result = power / total.astype(np.float32)[..., None]
    result = result.reshape(x.shape) if axis is None else np.moveaxis(result, -1, axis)
    return {"output": base.rounded(result, x.dtype)}
