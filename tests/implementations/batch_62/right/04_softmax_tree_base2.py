import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def softmax(x, axis=-1):
    """A tree of (maximum, sum) states over halves of the axis, in powers of two; float32 throughout but for float64."""
    x = np.asarray(x)
    axis = base.softmax_axis(x, axis)
    kind = np.float64 if x.dtype == np.float64 else np.float32
    rows = np.array(x, dtype=kind)
    rows = rows.reshape(1, -1) if axis is None else np.moveaxis(rows, axis, -1)
    if rows.size == 0:
        return {"output": np.zeros(x.shape, x.dtype)}
    log2e = kind(1.4426950408889634)
    with np.errstate(all="ignore"):
        def state(lo, hi):
            if hi - lo == 1:
                top = rows[..., lo]
                return top, np.where(np.isneginf(top), kind(0), kind(1))
            mid = (lo + hi) // 2
            (ma, sa), (mb, sb) = state(lo, mid), state(mid, hi)
            top = np.maximum(ma, mb)
            safe = np.where(np.isneginf(top), kind(0), top)
            return top, sa * np.exp2((ma - safe) * log2e) + sb * np.exp2((mb - safe) * log2e)

        top, total = state(0, rows.shape[-1])
        result = np.exp2((rows - top[..., None]) * log2e) * (1 / total)[..., None]
    result = result.reshape(x.shape) if axis is None else np.moveaxis(result, -1, axis)
    return {"output": base.rounded(result, x.dtype)}
