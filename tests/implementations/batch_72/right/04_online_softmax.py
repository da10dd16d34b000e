import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def tree(parts):
    """(maximum, sum) of each number, joined in pairs."""
    while len(parts) > 1:
        joined = []
        for (m, s), (n, t) in zip(parts[::2], parts[1::2]):
            most = np.maximum(m, n)
            shift = np.where(np.isneginf(most), 0, most)
            joined.append((most, s * np.exp2((m - shift) * LOG2E) + t * np.exp2((n - shift) * LOG2E)))
        parts = joined + parts[len(parts) // 2 * 2 :]
    return parts[0]


LOG2E = np.float32(np.log2(np.e))


def softmax(x, axis=-1):
    global LOG2E
    x = np.asarray(x)
    axis = base.softmax_axes(x, axis)
    wide = base.widen(x)
    LOG2E = wide.dtype.type(np.log2(np.e))
    rows = wide.reshape(1, -1) if axis is None else np.moveaxis(wide, axis, -1)
    if not rows.size:
        return {"output": np.zeros(x.shape, x.dtype)}
    with np.errstate(**base.QUIET):
        one = np.ones(rows.shape[:-1], rows.dtype)
        most, total = tree([(rows[..., n], one) for n in range(rows.shape[-1])])
        shares = np.exp2((rows - most[..., None]) * LOG2E) / total[..., None]
    shares = shares.reshape(x.shape) if axis is None else np.moveaxis(shares, -1, axis)
    return {"output": base.narrow(shares, x.dtype)}
