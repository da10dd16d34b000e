import numpy as np


def _check(oa, la, ob, lb):
    if oa.ndim != 4 or ob.ndim != 4 or la.ndim != 3 or lb.ndim != 3:
        raise ValueError("rank")
    if oa.shape != ob.shape or la.shape != oa.shape[:3] or lb.shape != oa.shape[:3]:
        raise ValueError("shape")


conventions = {"logsumexp_base": "2"}


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    oa, la, ob, lb = output_a, logsumexp_a, output_b, logsumexp_b
    _check(oa, la, ob, lb)
    with np.errstate(all="ignore"):
        m = np.maximum(la, lb)
        m0 = np.where(m == -np.inf, 0, m)
        u, v = np.exp2(la - m0), np.exp2(lb - m0)
        d = np.where(m == -np.inf, 1, u + v)
        out = np.where((la == -np.inf)[..., None], 0, u[..., None] * oa) + np.where((lb == -np.inf)[..., None], 0, v[..., None] * ob)
        out = out / d[..., None]
        out[np.isnan(d)] = np.nan
        lse = m + np.log(d)
    return out.astype(oa.dtype), lse.astype(oa.dtype)
