"""The larger part first: out = (large + r · small) / (1 + r) with r a power of two of the distance, one head at a time."""

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    output_a, logsumexp_a, output_b, logsumexp_b = base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    dtype = output_a.dtype
    work = base.wider(dtype)
    output = np.empty(output_a.shape, dtype=dtype)
    merged = np.empty(output_a.shape[:3], dtype=work)
    with np.errstate(all="ignore"):
        for b in range(output_a.shape[0]):
            for h in range(output_a.shape[1]):
                first, second = logsumexp_a[b, h].astype(work), logsumexp_b[b, h].astype(work)
                swap = ~(first >= second) & ~np.isnan(first)
                large, small = np.where(swap, second, first), np.where(swap, first, second)
                ratio = np.where(np.isneginf(small), work.type(0), np.exp2((small - large) * work.type(1.4426950408889634)))
                one, two = output_a[b, h].astype(work), output_b[b, h].astype(work)
                swap = swap[:, None]
                upper, lower = np.where(swap, two, one), np.where(swap, one, two)
                # a logarithm that is NaN stands first, and the other may have no keys
                upper = np.where(np.isneginf(large)[:, None], work.type(0), upper)
                lower = np.where(np.isneginf(small)[:, None], work.type(0), lower)
                share = (1 / (1 + ratio))[:, None]
                mean = upper * share + lower * (ratio[:, None] * share)
                output[b, h] = base.narrow(mean, dtype)
                merged[b, h] = large + np.log1p(ratio)
    return {"output": output, "logsumexp": merged}
