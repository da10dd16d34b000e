import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    wide = x.astype(np.float64)
    rows = wide.reshape(1, -1) if axis is None else np.moveaxis(wide, axis, -1)
    n = rows.shape[-1]
    with base.quiet():
        top = np.full(rows.shape[:-1] + (1,), -np.inf)
        total = np.zeros_like(top)
        for start in range(0, n, 32):
            chunk = rows[..., start:start + 32]
            new = np.maximum(top, chunk.max(axis=-1, keepdims=True))
            total = total * np.exp(top - new) + np.exp(chunk - new).sum(axis=-1, keepdims=True)
            top = new
        weights = np.exp(rows - top) / total
    weights = weights.reshape(x.shape) if axis is None else np.moveaxis(weights, -1, axis)
    return {"output": weights.astype(x.dtype)}
