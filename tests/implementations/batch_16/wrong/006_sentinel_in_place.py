import numpy as np


def _check(oa, la, ob, lb):
    if oa.ndim != 4 or ob.ndim != 4 or la.ndim != 3 or lb.ndim != 3:
        raise ValueError("rank")
    if oa.shape != ob.shape or la.shape != oa.shape[:3] or lb.shape != oa.shape[:3]:
        raise ValueError("shape")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    _check(output_a, logsumexp_a, output_b, logsumexp_b)
    dt = output_a.dtype
    ea, eb = logsumexp_a == -np.inf, logsumexp_b == -np.inf
    # a large finite number, so that no difference is NaN
    if ea.any():
        logsumexp_a[ea] = -1e30
    if eb.any():
        logsumexp_b[eb] = -1e30
    with np.errstate(all="ignore"):
        m = np.maximum(logsumexp_a, logsumexp_b)
        u, v = np.exp(logsumexp_a - m), np.exp(logsumexp_b - m)
        out = (np.where(ea[..., None], 0, u[..., None] * output_a) + np.where(eb[..., None], 0, v[..., None] * output_b)) / (u + v)[..., None]
        out = np.where((np.isnan(logsumexp_a) | np.isnan(logsumexp_b))[..., None], np.nan, out)
        lse = np.where(ea & eb, -np.inf, m + np.log(u + v))
    return {"output": out.astype(dt), "logsumexp": lse.astype(dt)}
