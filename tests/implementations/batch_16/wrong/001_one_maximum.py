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
        finite = [x[x > -np.inf] for x in (la, lb)]
        big0 = big = max([x.max() for x in finite if x.size] + [-np.inf])
        big0 = 0 if big0 == -np.inf else big0
        wa, wb = np.exp(la - big0), np.exp(lb - big0)
        total = wa + wb
        none = (la == -np.inf) & (lb == -np.inf)
        safe = np.where(none, 1, total)[..., None]
        pa = np.where((la == -np.inf)[..., None], 0, oa * (wa / safe[..., 0])[..., None])
        pb = np.where((lb == -np.inf)[..., None], 0, ob * (wb / safe[..., 0])[..., None])
        out = pa + pb
        out = np.where((np.isnan(la) | np.isnan(lb))[..., None], np.nan, out)
        lse = np.where(none, -np.inf, big0 + np.log(total))
    return {"output": out.astype(dt), "logsumexp": lse.astype(dt)}
