import numpy as np


def _check(oa, la, ob, lb):
    if oa.ndim != 4 or ob.ndim != 4 or la.ndim != 3 or lb.ndim != 3:
        raise ValueError("rank")
    if oa.shape != ob.shape or la.shape != oa.shape[:3] or lb.shape != oa.shape[:3]:
        raise ValueError("shape")


BLOCK = 32


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    oa, la, ob, lb = output_a, logsumexp_a, output_b, logsumexp_b
    _check(oa, la, ob, lb)
    B, H, S, Ev = oa.shape
    out, lse = np.zeros(oa.shape, oa.dtype), np.empty(la.shape, oa.dtype)
    with np.errstate(all="ignore"):
        for start in range(0, S, BLOCK):
            start = max(0, min(start, S - BLOCK))      # the last block is moved back, to be a full one
            rows = slice(start, start + BLOCK)
            x, y = la[:, :, rows], lb[:, :, rows]
            m = np.maximum(x, y)
            m0 = np.where(m == -np.inf, 0, m)
            u, v = np.exp(x - m0), np.exp(y - m0)
            t = np.where(m == -np.inf, 1, u + v)
            lse[:, :, rows] = m + np.log(t)
            part = out[:, :, rows]
            part += np.where((x == -np.inf)[..., None], 0, (u / t)[..., None] * oa[:, :, rows])
            part += np.where((y == -np.inf)[..., None], 0, (v / t)[..., None] * ob[:, :, rows])
            part[np.isnan(t)] = np.nan
    return {"output": out, "logsumexp": lse}
