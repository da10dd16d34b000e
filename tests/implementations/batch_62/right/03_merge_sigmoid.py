import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    """Both shares by a sigmoid of the distance, the logarithm by log1p; float32 throughout but for float64."""
    a, la, b, lb = base.merge_checks(output_a, logsumexp_a, output_b, logsumexp_b)
    dtype = a.dtype
    kind = np.float64 if dtype == np.float64 else np.float32
    a, la, b, lb = (np.array(x, dtype=kind) for x in (a, la, b, lb))
    none_a, none_b = np.isneginf(la), np.isneginf(lb)
    with np.errstate(all="ignore"):
        x = np.exp(-np.abs(la - lb))
        small, large = x / (1 + x), 1 / (1 + x)
        share_a = np.where(la >= lb, large, np.where(np.isnan(x), x, small))[..., None]
        share_b = np.where(la >= lb, small, np.where(np.isnan(x), x, large))[..., None]
        output = base.between(share_b * b + share_a * a, a, b)
        logsumexp = np.maximum(la, lb) + np.log1p(x)
    output = np.where(none_a[..., None], b, np.where(none_b[..., None], a, output))
    output = np.where((none_a & none_b)[..., None], 0, output)
    logsumexp = np.where(none_a, lb, np.where(none_b, la, logsumexp))
    return base.merge_result(output, logsumexp, dtype)
