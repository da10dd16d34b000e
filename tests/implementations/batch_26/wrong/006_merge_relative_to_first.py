import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    c = base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    with np.errstate(all="ignore"):
        a, la, b, lb = (base.wide(x, c) for x in (output_a, logsumexp_a, output_b, logsumexp_b))
        no_a, no_b = la == -np.inf, lb == -np.inf
        ratio = np.where(no_b, 0, np.exp(lb - np.where(no_a, 0, la)))  # how many times the first part the second counts
        total = 1 + ratio
        out = (a + np.where(no_b[..., None], 0, b * ratio[..., None])) / total[..., None]
        lse = la + np.log(total)
        out = np.where(no_b[..., None], np.where(no_a[..., None], 0, a), np.where(no_a[..., None], b, out))
        lse = np.where(no_b, la, np.where(no_a, lb, lse))
        bad = np.isnan(la) | np.isnan(lb)
        out[bad], lse[bad] = np.nan, np.nan
        return {"output": out.astype(output_a.dtype), "logsumexp": lse}
