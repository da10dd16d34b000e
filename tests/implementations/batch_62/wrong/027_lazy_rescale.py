import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    axis = base.softmax_axis(x, axis)
    wide = base.wide(x)
    rows = wide.reshape(1, -1) if axis is None else np.moveaxis(wide, axis, -1)
    n = rows.shape[-1]
    with np.errstate(all="ignore"):
        top = np.full(rows.shape[:-1], -np.inf)
        total = np.zeros(rows.shape[:-1])
        for start in range(0, n, 32):
            block = rows[..., start:start + 32]
            new = np.maximum(top, block.max(axis=-1))
            safe = np.where(np.isneginf(new), 0, new)
            factor = np.where(new - top <= 8, 1.0, np.exp(top - safe))
            total = total * factor + np.exp(block - safe[..., None]).sum(axis=-1)
            top = new
        result = np.exp(rows - top[..., None]) / total[..., None]
    result = result.reshape(x.shape) if axis is None else np.moveaxis(result, -1, axis)
    return {"output": base.rounded(result, x.dtype)}
