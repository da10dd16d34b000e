import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    base.merge_check(output_a, logsumexp_a, output_b, logsumexp_b)
    t = base.wide(output_a.dtype)
    out = np.zeros(output_a.shape, t)
    lse = np.full(logsumexp_a.shape, -np.inf, t)
    with np.errstate(all="ignore"):
        for at in np.ndindex(*lse.shape):
            la, lb = t(logsumexp_a[at]), t(logsumexp_b[at])
            a, b = output_a[at].astype(t), output_b[at].astype(t)
            if np.isneginf(la) and np.isneginf(lb):
                continue
            if la != la or lb != lb:
                out[at], lse[at] = np.nan, np.nan
                continue
            if lb - la > 20 or np.isneginf(la):
                out[at], lse[at] = b, lb
            elif la - lb > 20 or np.isneginf(lb):
                out[at], lse[at] = a, la
            else:
                top = max(la, lb)
                wa, wb = np.exp(la - top), np.exp(lb - top)
                out[at] = wa / (wa + wb) * a + wb / (wa + wb) * b
                lse[at] = top + np.log(wa + wb)
        return out.astype(output_a.dtype), lse.astype(output_a.dtype)
