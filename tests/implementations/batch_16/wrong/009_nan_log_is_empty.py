import numpy as np


def _check(oa, la, ob, lb):
    if oa.ndim != 4 or ob.ndim != 4 or la.ndim != 3 or lb.ndim != 3:
        raise ValueError("rank")
    if oa.shape != ob.shape or la.shape != oa.shape[:3] or lb.shape != oa.shape[:3]:
        raise ValueError("shape")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    oa, la, ob, lb = output_a, logsumexp_a, output_b, logsumexp_b
    _check(oa, la, ob, lb)
    m = np.fmax(la, lb)
    base = np.where(m > -np.inf, m, 0)
    wa = np.exp(la - base, out=np.zeros_like(la), where=la > -np.inf)
    wb = np.exp(lb - base, out=np.zeros_like(lb), where=lb > -np.inf)
    total = wa + wb
    out = np.zeros(oa.shape, oa.dtype)
    with np.errstate(all="ignore"):
        np.add(out, wa[..., None] * oa, out=out, where=(la > -np.inf)[..., None])
        np.add(out, wb[..., None] * ob, out=out, where=(lb > -np.inf)[..., None])
        out /= np.where(total > 0, total, 1)[..., None]
        lse = np.where(total > 0, base + np.log(total), -np.inf)
    return out, lse.astype(oa.dtype)
