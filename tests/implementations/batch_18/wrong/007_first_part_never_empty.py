import numpy as np
from scipy.special import expit


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    """One output is moved towards the other, as ring attention does with each block that arrives."""
    a, b = np.asarray(output_a), np.asarray(output_b)
    x, y = np.asarray(logsumexp_a), np.asarray(logsumexp_b)
    if a.ndim != 4 or a.shape != b.shape or x.ndim != 3 or x.shape != a.shape[:3] or y.shape != x.shape:
        raise ValueError("parts do not fit")
    kind = a.dtype
    if kind not in (np.float32, np.float64):
        a, b, x, y = (t.astype(np.float32) for t in (a, b, x, y))
    with np.errstate(all="ignore"):
        move = expit(y - x)[..., None]
        out = a - move * (a - b)
        out = np.where((y == -np.inf)[..., None], a, out)
        out = np.where(((x == -np.inf) & (y == -np.inf))[..., None], 0, out)
        out = np.where((np.isnan(x) | np.isnan(y))[..., None], np.nan, out)
        lse = np.logaddexp(x, y)
    return {"output": out.astype(kind), "logsumexp": lse}
