"""Merge by moving the one output towards the other by a sigmoid of the difference of the logarithms, in wide floats."""

import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
conventions = {"half_precision_grade": "fused"}

WIDE = np.longdouble


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    if output_a.ndim != 4 or output_b.ndim != 4 or logsumexp_a.ndim != 3 or logsumexp_b.ndim != 3:
        raise ValueError("outputs have four axes, logarithms three")
    if output_a.shape != output_b.shape:
        raise ValueError("outputs of different shapes")
    if logsumexp_a.shape != output_a.shape[:3] or logsumexp_b.shape != output_a.shape[:3]:
        raise ValueError("logarithms of another shape")
    a, la, b, lb = (
        t.astype(np.float64).astype(WIDE) for t in (output_a, logsumexp_a, output_b, logsumexp_b)
    )
    none_a, none_b = np.isneginf(la), np.isneginf(lb)
    with np.errstate(all="ignore"):
        # the share of the part with the smaller logarithm, so that it is at most a half
        swap = lb > la
        low, high = np.where(swap, la, lb), np.where(swap, lb, la)
        distance = np.exp(low - high)
        share = distance / (1 + distance)
        near = np.where(swap[..., None], b, a)
        far = np.where(swap[..., None], a, b)
        output = near + share[..., None] * (far - near)
        logsumexp = high + np.log1p(distance)
    output = np.where(none_a[..., None], b, np.where(none_b[..., None], a, output))
    output = np.where((none_a & none_b)[..., None], 0, output)
    logsumexp = np.where(none_a, lb, np.where(none_b, la, logsumexp))
    with np.errstate(all="ignore"):
        narrow = output.astype(np.float64)
        return {"output": narrow.astype(output_a.dtype), "logsumexp": logsumexp.astype(np.float64)}
