"""Shares from logaddexp2 of the distance; logarithms to the base 2, plus infinity where there are no keys."""
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
conventions = {"logsumexp_base": "2", "empty_logsumexp": "plus_infinity"}


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    if output_a.ndim != 4 or output_a.shape != output_b.shape:
        raise ValueError("outputs")
    if logsumexp_a.shape != output_a.shape[:3] or logsumexp_b.shape != output_a.shape[:3]:
        raise ValueError("logarithms")
    la, lb = logsumexp_a.astype(np.float64), logsumexp_b.astype(np.float64)
    a_only, b_only = np.isinf(lb), np.isinf(la)
    with np.errstate(all="ignore"):
        d = np.where(a_only | b_only, 0, lb - la)
        share_a, share_b = np.exp2(-np.logaddexp2(0, d)), np.exp2(-np.logaddexp2(0, -d))
        mixed = output_a.astype(np.float64) * share_a[..., None] + output_b.astype(np.float64) * share_b[..., None]
        lse = la + np.logaddexp2(0, d)
        out = np.where(b_only[..., None], output_b.astype(np.float64), mixed)
        out = np.where(a_only[..., None], output_a.astype(np.float64), out)
        out = np.where((a_only & b_only)[..., None], 0, out)
        # a NaN beside an empty part stays
        lse = np.where(a_only & b_only, np.inf, np.where(a_only, la, np.where(b_only, lb, lse)))
        nan = np.isnan(la) | np.isnan(lb)
        out = np.where(nan[..., None], np.nan, out)
        lse = np.where(nan, np.nan, lse)
        return {"output": out.astype(output_a.dtype), "logsumexp": lse.astype(np.float64 if output_a.dtype == np.float64 else np.float32)}
