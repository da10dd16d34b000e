import numpy as np


def _check(oa, la, ob, lb):
    if oa.ndim != 4 or ob.ndim != 4 or la.ndim != 3 or lb.ndim != 3:
        raise ValueError("rank")
    if oa.shape != ob.shape or la.shape != oa.shape[:3] or lb.shape != oa.shape[:3]:
        raise ValueError("shape")


conventions = {"logsumexp_base": "2", "empty_logsumexp": "plus_infinity"}


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    """Row by row, powers of two, plus infinity for no keys."""
    _check(output_a, logsumexp_a, output_b, logsumexp_b)
    out = np.zeros(output_a.shape, output_a.dtype)
    lse = np.full(logsumexp_a.shape, np.inf, output_a.dtype)
    with np.errstate(all="ignore"):
        for at in np.ndindex(lse.shape):
            parts = [(l[at], o[at]) for l, o in ((logsumexp_b, output_b), (logsumexp_a, output_a)) if l[at] != np.inf]
            if not parts:
                continue
            if any(np.isnan(l) for l, _ in parts):
                out[at], lse[at] = np.nan, np.nan
                continue
            top = max(l for l, _ in parts)
            weights = [np.exp2(l - top) for l, _ in parts]
            out[at] = sum(f / sum(weights) * o for f, (_, o) in zip(weights, parts))
            lse[at] = top + np.log2(sum(weights))
    return {"output": out, "logsumexp": lse}
