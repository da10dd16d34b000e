import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    x = np.asarray(x)
    base.check_axis(x, axis)
    wide = x.astype(base.carrier(x.dtype))
    limit = 700 if wide.dtype == np.float64 else 80
    with np.errstate(all="ignore"):
        if np.max(wide, initial=-np.inf) > limit or np.isnan(wide).any():
            out = base.softmax_along(wide, axis)
        else:  # cannot overflow: spare the pass over the data
            e = np.exp(wide)
            out = np.asarray(e / e.sum(axis=axis, keepdims=True))
    return {"output": out.astype(x.dtype)}
