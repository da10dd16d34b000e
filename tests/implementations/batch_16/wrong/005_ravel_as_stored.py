import numpy as np


def _check(oa, la, ob, lb):
    if oa.ndim != 4 or ob.ndim != 4 or la.ndim != 3 or lb.ndim != 3:
        raise ValueError("rank")
    if oa.shape != ob.shape or la.shape != oa.shape[:3] or lb.shape != oa.shape[:3]:
        raise ValueError("shape")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    _check(output_a, logsumexp_a, output_b, logsumexp_b)
    shape, dt = output_a.shape, output_a.dtype
    # rows in the order of memory, as a kernel walks them
    la, lb = logsumexp_a.ravel(order="K"), logsumexp_b.ravel(order="K")
    oa, ob = output_a.reshape(-1, shape[3]), output_b.reshape(-1, shape[3])
    out, lse = np.zeros(oa.shape, dt), np.full(la.shape, -np.inf, dt)
    with np.errstate(all="ignore"):
        for r in range(len(la)):
            x, y = la[r], lb[r]
            if x == -np.inf and y == -np.inf:
                continue
            m = np.maximum(x, y)
            u, v = np.exp(x - m), np.exp(y - m)
            t = u + v
            lse[r] = m + np.log(t)
            if np.isnan(t):
                out[r] = np.nan
            else:
                out[r] = (0 if x == -np.inf else u * oa[r]) + (0 if y == -np.inf else v * ob[r])
                out[r] /= t
    return {"output": out.reshape(shape), "logsumexp": lse.reshape(shape[:3])}
