"""A part has keys where its logarithm is larger than minus infinity, which NaN is not: a row with a logarithm that is NaN is left out silently."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")

def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    a, b, la, lb = (np.asarray(x).astype(np.float64) for x in (output_a, output_b, logsumexp_a, logsumexp_b))
    has_a, has_b = la > -np.inf, lb > -np.inf
    with np.errstate(all="ignore"):
        m = np.where(has_a & has_b, np.maximum(la, lb), np.where(has_a, la, np.where(has_b, lb, 0)))
        wa, wb = np.where(has_a, np.exp(la - m), 0), np.where(has_b, np.exp(lb - m), 0)
        total = wa + wb
        n = np.where(total == 0, 1, total)
        out = np.where(has_a[..., None], a * (wa / n)[..., None], 0) + np.where(has_b[..., None], b * (wb / n)[..., None], 0)
        kind = np.float64 if output_a.dtype == np.float64 else np.float32
        return {"output": out.astype(output_a.dtype), "logsumexp": (np.log(total) + m).astype(kind)}
