import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    if x.ndim and x.size and np.isfinite(x).all() and x.min() == x.max():
        return {"output": np.full(x.shape, 1 / x.shape[-1]).astype(x.dtype)}
    return {"output": base.soft(x.astype(np.float64), axis).astype(x.dtype)}
