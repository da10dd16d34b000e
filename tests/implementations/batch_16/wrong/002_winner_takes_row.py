import numpy as np


def _check(oa, la, ob, lb):
    if oa.ndim != 4 or ob.ndim != 4 or la.ndim != 3 or lb.ndim != 3:
        raise ValueError("rank")
    if oa.shape != ob.shape or la.shape != oa.shape[:3] or lb.shape != oa.shape[:3]:
        raise ValueError("shape")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    _check(output_a, logsumexp_a, output_b, logsumexp_b)
    B, H, S, Ev = output_a.shape
    dt = output_a.dtype
    out, lse = np.zeros((B, H, S, Ev), dt), np.full((B, H, S), -np.inf, dt)
    skip = 20.0   # the smaller part is below what can be seen
    with np.errstate(all="ignore"):
        for b, h, s in np.ndindex(B, H, S):
            x, y = logsumexp_a[b, h, s], logsumexp_b[b, h, s]
            if np.isnan(x) or np.isnan(y):
                out[b, h, s], lse[b, h, s] = np.nan, np.nan
            elif x == -np.inf and y == -np.inf:
                continue
            elif x - y > skip:
                out[b, h, s], lse[b, h, s] = output_a[b, h, s], x
            elif y - x > skip:
                out[b, h, s], lse[b, h, s] = output_b[b, h, s], y
            else:
                m = max(x, y)
                u, v = np.exp(x - m), np.exp(y - m)
                out[b, h, s] = (u * output_a[b, h, s] + v * output_b[b, h, s]) / (u + v)
                lse[b, h, s] = m + np.log(u + v)
    return out, lse
