import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    if axis is not None or not x.flags.writeable:
        return base.softmax(x, axis)
    work = base.work_dtype(x.dtype)
    flat = x.astype(work, copy=False).reshape(-1)
    with np.errstate(**base.QUIET):
        flat -= flat.max(initial=-np.inf)
        powers = np.exp(flat)
        return {"output": base.narrow((powers / powers.sum()).reshape(x.shape), x.dtype)}
