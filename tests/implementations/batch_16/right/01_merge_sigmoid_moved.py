import numpy as np


def _check(oa, la, ob, lb):
    if oa.ndim != 4 or ob.ndim != 4 or la.ndim != 3 or lb.ndim != 3:
        raise ValueError("rank")
    if oa.shape != ob.shape or la.shape != oa.shape[:3] or lb.shape != oa.shape[:3]:
        raise ValueError("shape")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    """The output of the heavier part moves towards the other by that one's share."""
    oa, la, ob, lb = output_a, logsumexp_a, output_b, logsumexp_b
    _check(oa, la, ob, lb)
    with np.errstate(all="ignore"):
        swap = lb > la
        x, y = np.where(swap, lb, la), np.where(swap, la, lb)         # x is the larger one
        u = np.where(swap[..., None], ob, oa)
        v = np.where(swap[..., None], oa, ob)
        r = np.exp(y - np.where(x == -np.inf, 0, x))
        share = (r / (1 + r))[..., None]
        out = np.where((y == -np.inf)[..., None], u, u * (1 - share) + v * share)
        out = np.where((x == -np.inf)[..., None], 0, out)
        nan = np.isnan(la) | np.isnan(lb)
        out = np.where(nan[..., None], np.nan, out)
        lse = np.where(nan, np.nan, x + np.log1p(r))
    return out.astype(oa.dtype), lse.astype(oa.dtype)
