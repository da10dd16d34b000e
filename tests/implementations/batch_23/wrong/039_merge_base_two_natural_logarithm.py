import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np


conventions = {"logsumexp_base": "2"}


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    acc = base.acc_of(output_a.dtype)
    a, la, b, lb = (x.astype(acc) for x in (output_a, logsumexp_a, output_b, logsumexp_b))
    out, lse = np.zeros(a.shape, acc), np.zeros(la.shape, acc)
    with np.errstate(all="ignore"):
        for r in np.ndindex(la.shape):
            x, y = la[r], lb[r]
            if np.isneginf(x) or np.isneginf(y):
                out[r] = b[r] if np.isneginf(x) else a[r]
                lse[r] = max(x, y) if not (np.isnan(x) or np.isnan(y)) else np.nan
                if np.isneginf(x) and np.isneginf(y):
                    out[r] = 0
                if np.isnan(x) or np.isnan(y):
                    out[r] = np.nan
                continue
            m = np.maximum(x, y)
            wx, wy = np.exp2(x - m), np.exp2(y - m)
            out[r] = wx / (wx + wy) * a[r] + wy / (wx + wy) * b[r]
            lse[r] = m + np.log1p(np.minimum(wx, wy))
    return {"output": out.astype(output_a.dtype), "logsumexp": lse}
