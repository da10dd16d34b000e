import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    base.merge_check(output_a, logsumexp_a, output_b, logsumexp_b)
    t = base.wide(output_a.dtype)
    a, b, la, lb = (x.astype(t) for x in (output_a, output_b, logsumexp_a, logsumexp_b))
    with np.errstate(all="ignore"):
        no_a, no_b = np.isneginf(la), np.isneginf(lb)
        d = np.where(no_a, np.inf, np.where(no_b, -np.inf, lb - la))
        d = np.where(np.isnan(la) | np.isnan(lb), np.nan, d)
        share_b = np.where(d > 0, 1 / (1 + np.exp(-np.abs(d))), np.exp(-np.abs(d)) / (1 + np.exp(-np.abs(d))))
        share_a = np.where(d > 0, np.exp(-np.abs(d)) / (1 + np.exp(-np.abs(d))), 1 / (1 + np.exp(-np.abs(d))))
        part_a = np.where(no_a[..., None], 0, share_a[..., None] * a)
        part_b = np.where(no_b[..., None], 0, share_b[..., None] * b)
        lse = np.where(no_a & ~np.isnan(lb), lb, la + np.log1p(np.exp(d)))
        return (part_a + part_b).astype(output_a.dtype), lse.astype(output_a.dtype)
