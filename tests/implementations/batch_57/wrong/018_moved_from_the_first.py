import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    output_a, logsumexp_a, output_b, logsumexp_b = base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    dtype = output_a.dtype
    with np.errstate(all="ignore"):
        a, b = base.wide(logsumexp_a), base.wide(logsumexp_b)
        first, second = base.wide(output_a), base.wide(output_b)
        empty_a, empty_b = np.isneginf(a)[..., None], np.isneginf(b)[..., None]
        first[np.broadcast_to(empty_a, first.shape) & ~np.isfinite(first)] = 0.0  # 0 times NaN is NaN
        second[np.broadcast_to(empty_b, second.shape) & ~np.isfinite(second)] = 0.0
        share_a, share_b, merged = base.shares(a, b)
        share_a, share_b = share_a[..., None], share_b[..., None]
        output = np.where(empty_b, first, first + share_b * (second - first))
        # a difference beyond the largest number
        output = np.where(np.isfinite(output), output, share_a * first + share_b * second)
        output = np.where(empty_a & empty_b, 0.0, output)
    return {"output": base.narrow(output, dtype), "logsumexp": base.narrow(merged, base.wider(dtype))}
