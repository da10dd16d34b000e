import numpy as np


def _check(oa, la, ob, lb):
    if oa.ndim != 4 or ob.ndim != 4 or la.ndim != 3 or lb.ndim != 3:
        raise ValueError("rank")
    if oa.shape != ob.shape or la.shape != oa.shape[:3] or lb.shape != oa.shape[:3]:
        raise ValueError("shape")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    oa, la, ob, lb = output_a, logsumexp_a, output_b, logsumexp_b
    _check(oa, la, ob, lb)
    dt = oa.dtype
    with np.errstate(all="ignore"):
        big = np.maximum(la, lb)
        big0 = np.where(big == -np.inf, 0, big)
        wa, wb = np.exp(la - big0), np.exp(lb - big0)
        total = wa + wb
        none = (la == -np.inf) & (lb == -np.inf)
        safe = np.where(none, 1, total)[..., None]
        pa = np.where((la == -np.inf)[..., None], 0, oa * (wa / safe[..., 0])[..., None])
        pb = ob * (wb / safe[..., 0])[..., None]
        out = np.where(none[..., None], 0, pa + pb)
        out = np.where((np.isnan(la) | np.isnan(lb))[..., None], np.nan, out)
        lse = np.where(none, -np.inf, big + np.log(total))
    return {"output": out.astype(dt), "logsumexp": lse.astype(dt)}
