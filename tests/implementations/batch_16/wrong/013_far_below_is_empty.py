import numpy as np


def _check(oa, la, ob, lb):
    if oa.ndim != 4 or ob.ndim != 4 or la.ndim != 3 or lb.ndim != 3:
        raise ValueError("rank")
    if oa.shape != ob.shape or la.shape != oa.shape[:3] or lb.shape != oa.shape[:3]:
        raise ValueError("shape")


EMPTY = -1e4   # masked scores were filled with this


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    oa, la, ob, lb = output_a, logsumexp_a, output_b, logsumexp_b
    _check(oa, la, ob, lb)
    dt = oa.dtype
    out, lse = np.zeros(oa.shape, dt), np.full(la.shape, -np.inf, dt)
    with np.errstate(all="ignore"):
        for b in range(oa.shape[0]):
            for h in range(oa.shape[1]):
                x, y = la[b, h], lb[b, h]
                hx, hy = ~(x <= EMPTY), ~(y <= EMPTY)
                m = np.maximum(x, y)
                u, v = np.where(hx, np.exp(x - m), 0), np.where(hy, np.exp(y - m), 0)
                t = u + v
                some = t != 0
                acc = np.where(hx[:, None], u[:, None] * oa[b, h], 0) + np.where(hy[:, None], v[:, None] * ob[b, h], 0)
                acc = acc / np.where(some, t, 1)[:, None]
                out[b, h] = np.where(np.isnan(t)[:, None], np.nan, acc)
                lse[b, h] = np.where(some, m + np.log(t), -np.inf)
    return out, lse
