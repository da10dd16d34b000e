import numpy as np


def shares(la, lb):
    """What part a and part b get of the whole, and the logarithm of the whole."""
    empty_a, empty_b = la == -np.inf, lb == -np.inf
    merged = np.logaddexp(la, lb)
    gap = np.where(empty_a & empty_b, 0, lb - la)
    a = 1 / (1 + np.exp(gap))
    b = 1 / (1 + np.exp(-gap))
    a[empty_a], b[empty_b] = 0, 0
    return a, b, merged


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    if np.ndim(output_a) != 4 or np.ndim(logsumexp_a) != 3:
        raise ValueError("expected (B, H, S, E) and (B, H, S)")
    if np.shape(output_a) != np.shape(output_b):
        raise ValueError("parts of different shapes")
    if np.shape(logsumexp_a) != np.shape(output_a)[:3] or np.shape(logsumexp_b) != np.shape(output_a)[:3]:
        raise ValueError("logsumexp of another shape than the rows")
    kind = np.asarray(output_a).dtype
    work = kind if kind.itemsize >= 4 else np.dtype(np.float32)
    with np.errstate(all="ignore"):
        la = np.array(logsumexp_a, dtype=work)
        lb = np.array(logsumexp_b, dtype=work)
        a, b, merged = shares(la, lb)
        result = np.ascontiguousarray(output_a, dtype=work)
        result[la == -np.inf] = 0
        result *= a[..., None]
        other = np.array(output_b, dtype=work)
        other[lb == -np.inf] = 0
        other *= b[..., None]
        result += other
    return {"output": result.astype(kind, copy=False), "logsumexp": merged}
