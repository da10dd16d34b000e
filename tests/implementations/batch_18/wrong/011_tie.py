import math

import numpy as np

conventions = {"logsumexp_base": "2"}


def merge_row(a, x, b, y):
    """One row: two vectors and their two logarithms."""
    if math.isnan(x) or math.isnan(y):
        return [math.nan] * len(a), math.nan
    if x == -math.inf and y == -math.inf:
        return [0.0] * len(a), -math.inf
    if x == -math.inf:
        return list(b), y
    if y == -math.inf:
        return list(a), x
    if x == y:
        return [0.5 * s + 0.5 * t for s, t in zip(a, b)], x
    if y > x:
        a, x, b, y = b, y, a, x
    ratio = 2.0 ** (y - x)
    total = 1.0 + ratio
    return [s * (1.0 / total) + t * (ratio / total) for s, t in zip(a, b)], x + math.log2(total)


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    output_a, output_b = np.asarray(output_a), np.asarray(output_b)
    logsumexp_a, logsumexp_b = np.asarray(logsumexp_a), np.asarray(logsumexp_b)
    if output_a.ndim != 4 or logsumexp_a.ndim != 3 or logsumexp_b.ndim != 3:
        raise ValueError("rank")
    if output_a.shape != output_b.shape:
        raise ValueError("outputs do not fit")
    if not logsumexp_a.shape == logsumexp_b.shape == output_a.shape[:3]:
        raise ValueError("logarithms do not fit")
    output = np.empty(output_a.shape, output_a.dtype)
    logsumexp = np.empty(logsumexp_a.shape, np.float64 if output_a.dtype == np.float64 else np.float32)
    for at in np.ndindex(*logsumexp_a.shape):
        a, b = output_a[at].tolist(), output_b[at].tolist()
        row, log = merge_row(a, float(logsumexp_a[at]), b, float(logsumexp_b[at]))
        output[at] = row
        logsumexp[at] = log
    return output, logsumexp
