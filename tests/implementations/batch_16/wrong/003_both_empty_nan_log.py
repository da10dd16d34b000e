import numpy as np


def _check(oa, la, ob, lb):
    if oa.ndim != 4 or ob.ndim != 4 or la.ndim != 3 or lb.ndim != 3:
        raise ValueError("rank")
    if oa.shape != ob.shape or la.shape != oa.shape[:3] or lb.shape != oa.shape[:3]:
        raise ValueError("shape")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    _check(output_a, logsumexp_a, output_b, logsumexp_b)
    with np.errstate(all="ignore"):
        lse = np.maximum(logsumexp_a, logsumexp_b) + np.log1p(np.exp(-np.abs(logsumexp_a - logsumexp_b)))
        share_a = 1 / (1 + np.exp(logsumexp_b - logsumexp_a))
        share_b = 1 / (1 + np.exp(logsumexp_a - logsumexp_b))
        ea, eb = (logsumexp_a == -np.inf)[..., None], (logsumexp_b == -np.inf)[..., None]
        out = np.where(ea, 0, share_a[..., None] * output_a) + np.where(eb, 0, share_b[..., None] * output_b)
        out = np.where(ea & ~eb, output_b, np.where(eb & ~ea, output_a, out))
        nan = np.isnan(logsumexp_a) | np.isnan(logsumexp_b)
        out = np.where(nan[..., None], np.nan, out)
    return {"output": out.astype(output_a.dtype), "logsumexp": lse.astype(output_a.dtype)}
