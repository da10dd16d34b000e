"""States merged as in ring attention: a sigmoid of the difference of logarithms, from the larger part on, and log1p;
in float32 but for float64; row blocks of 3 from the end."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    oa, la, ob, lb = base.merge_check(output_a, logsumexp_a, output_b, logsumexp_b)
    dtype, work = oa.dtype, base.work_dtype(oa)
    shape = oa.shape
    flat = [np.ascontiguousarray(t).reshape(-1, shape[3]) if t.ndim == 4 else np.ascontiguousarray(t).reshape(-1)
            for t in (oa, la, ob, lb)] if oa.size else None
    out, lse = np.zeros((la.size, shape[3]), dtype), np.zeros(la.size, dtype)
    with np.errstate(all="ignore"):
        if flat is None:
            lse = np.where(np.isneginf(base.wide(la)), base.wide(lb), np.logaddexp(base.wide(la), base.wide(lb)))
            return {"output": np.zeros(shape, dtype), "logsumexp": lse.astype(dtype)}
        for stop in range(la.size, 0, -3):
            rows = slice(max(stop - 3, 0), stop)
            a, x, b, y = (t[rows].astype(work) for t in flat)
            swap = y > x
            x, y = np.where(swap, y, x), np.where(swap, x, y)
            a, b = np.where(swap[:, None], b, a), np.where(swap[:, None], a, b)  # a has the larger logarithm
            lone = np.isneginf(y)
            neither = lone & np.isneginf(x)
            ratio = np.exp(np.where(lone, 0, y - x))  # up to 1
            small = ratio / (1 + ratio)
            mixed = a / (1 + ratio)[:, None] + small[:, None] * b
            # NaN compares as not larger: it may stand in x beside an empty part, which is lone, or in y
            mixed = np.where(lone[:, None], a, mixed)
            mixed = np.where(np.isnan(x)[:, None] | np.isnan(y)[:, None], np.nan, mixed)
            both = np.where(lone, x, x + np.log1p(ratio))
            both = np.where(np.isnan(x) | np.isnan(y), np.nan, both)
            out[rows] = np.where(neither[:, None], 0, mixed).astype(dtype)
            lse[rows] = both.astype(dtype)
    return {"output": out.reshape(shape), "logsumexp": lse.reshape(shape[:3])}
