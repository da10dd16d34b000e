import numpy as np


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    """The output of the larger part is moved towards that of the smaller one, and its logarithm rises by log1p."""
    a, b = np.asarray(output_a), np.asarray(output_b)
    x, y = np.asarray(logsumexp_a), np.asarray(logsumexp_b)
    if a.ndim != 4 or b.ndim != 4 or x.ndim != 3 or y.ndim != 3:
        raise ValueError("rank")
    if a.shape != b.shape or x.shape != a.shape[:3] or y.shape != a.shape[:3]:
        raise ValueError("shape")
    swap = y > x
    with np.errstate(all="ignore"):
        great, small = np.where(swap[..., None], b, a), np.where(swap[..., None], a, b)
        high, low = np.where(swap, y, x), np.where(swap, x, y)
        ratio = np.exp(low - high)
        out = great + (small - great) * (ratio / (1 + ratio))[..., None]
        out = np.where((low == -np.inf)[..., None], great, out)
        lse = np.where(low == -np.inf, high, high + np.log1p(ratio))
    out = np.where((high == -np.inf)[..., None], 0, out)
    nan = np.isnan(x) | np.isnan(y)
    out = np.where(nan[..., None], np.nan, out)
    lse = np.where(nan, np.nan, lse)
    return out.astype(a.dtype), lse.astype(a.dtype)
