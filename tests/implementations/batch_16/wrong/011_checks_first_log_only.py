import numpy as np


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    oa, la, ob, lb = output_a, logsumexp_a, output_b, logsumexp_b
    if oa.ndim != 4 or ob.ndim != 4 or la.ndim != 3 or lb.ndim != 3:
        raise ValueError("rank")
    if oa.shape != ob.shape or la.shape != oa.shape[:-1]:
        raise ValueError("shape")
    with np.errstate(all="ignore"):
        both = np.stack(np.broadcast_arrays(la, lb))
        m = both.max(0)
        w = np.exp(both - np.where(m == -np.inf, 0, m))
        t = w.sum(0)
        w = w / np.where(t == 0, 1, t)
        parts = w[..., None] * np.stack([oa, ob])
        parts[both == -np.inf] = 0
        out = parts.sum(0)
        out[np.isnan(t)] = np.nan
        lse = np.where(t == 0, -np.inf, m + np.log(t))
    return {"output": out.astype(oa.dtype), "logsumexp": lse.astype(oa.dtype)}
