import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


_buffers = {}


def softmax(x, axis=-1):
    x = np.asarray(x)
    base.check_axis(x, axis)
    out = base.softmax_along(x.astype(np.float64), axis).astype(x.dtype)
    buffer = _buffers.setdefault((x.shape, x.dtype.name), np.empty(x.shape, x.dtype))
    buffer[...] = out
    return {"output": buffer}
