import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    base.check_axis(x, axis)
    if x.dtype not in base.HALF or x.ndim == 0:
        return {"output": base.softmax_along(x.astype(np.float64), axis).astype(x.dtype)}
    rows = x.astype(np.float32).reshape(-1) if axis is None else np.moveaxis(x.astype(np.float32), axis, -1)
    with np.errstate(all="ignore"):
        e = np.exp(rows - rows.max(axis=-1, keepdims=True, initial=-np.inf))
        total = np.zeros(rows.shape[:-1], x.dtype)
        for k in range(rows.shape[-1]):
            total = (total.astype(np.float32) + e[..., k]).astype(x.dtype)
        out = e / total.astype(np.float32)[..., None]
    out = out.reshape(x.shape) if axis is None else np.moveaxis(out, -1, axis)
    return {"output": out.astype(x.dtype)}
