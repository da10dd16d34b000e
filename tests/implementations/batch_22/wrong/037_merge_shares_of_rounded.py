"""The shares are powers of the distance from the rounded merged logarithm and are not divided by their sum, so that they do not add up to 1 for large logarithms."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")

def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    kind = np.float64 if output_a.dtype == np.float64 else np.float32
    la, lb = logsumexp_a.astype(kind), logsumexp_b.astype(kind)
    with np.errstate(all="ignore"):
        lse = np.logaddexp(la, lb)
        safe = np.where(np.isneginf(lse), 0, lse).astype(kind)
        pa = np.where(np.isneginf(la)[..., None], 0, np.exp(la - safe)[..., None] * output_a.astype(kind))
        pb = np.where(np.isneginf(lb)[..., None], 0, np.exp(lb - safe)[..., None] * output_b.astype(kind))
        return {"output": (pa + pb).astype(output_a.dtype), "logsumexp": lse}
