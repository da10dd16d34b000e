"""The distance of the logarithms is clamped to 20 before the shares are formed."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")

def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    a, b, la, lb = (np.asarray(x).astype(np.float64) for x in (output_a, output_b, logsumexp_a, logsumexp_b))
    with np.errstate(all="ignore"):
        ea, eb = np.isneginf(la), np.isneginf(lb)
        d = np.clip(np.where(ea | eb, 0, la - lb), -20, 20)  # e^-20 is nothing beside 1
        share = 1 / (1 + np.exp(-d))
        share = np.where(eb, 1, np.where(ea, 0, share))
        other = np.where(eb, 0, np.where(ea, 1, 1 / (1 + np.exp(d))))
        out = np.where(ea[..., None], 0, a * share[..., None]) + np.where(eb[..., None], 0, b * other[..., None])
        lse = np.logaddexp(la, lb)
        out = np.where((ea & eb)[..., None], 0, out)
        kind = np.float64 if output_a.dtype == np.float64 else np.float32
        return {"output": out.astype(output_a.dtype), "logsumexp": lse.astype(kind)}
