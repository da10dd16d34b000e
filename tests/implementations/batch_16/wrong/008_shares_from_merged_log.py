import numpy as np


def _check(oa, la, ob, lb):
    if oa.ndim != 4 or ob.ndim != 4 or la.ndim != 3 or lb.ndim != 3:
        raise ValueError("rank")
    if oa.shape != ob.shape or la.shape != oa.shape[:3] or lb.shape != oa.shape[:3]:
        raise ValueError("shape")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    oa, la, ob, lb = output_a, logsumexp_a, output_b, logsumexp_b
    _check(oa, la, ob, lb)
    with np.errstate(all="ignore"):
        lse = np.logaddexp(la, lb)
        ref = np.where(lse == -np.inf, 0, lse)
        sa, sb = np.exp(la - ref)[..., None], np.exp(lb - ref)[..., None]
        out = np.where(sa == 0, 0, sa * oa) + np.where(sb == 0, 0, sb * ob)
        out = np.where(np.isnan(sa + sb), np.nan, out)
        out = np.where((lb == -np.inf)[..., None], np.where((la == -np.inf)[..., None], 0, oa + sa * 0), out)
        out = np.where(((la == -np.inf) & (lb != -np.inf))[..., None], ob + sb * 0, out)
    return out.astype(oa.dtype), lse.astype(oa.dtype)
