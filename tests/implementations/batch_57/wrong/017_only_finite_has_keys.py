import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    output_a, logsumexp_a, output_b, logsumexp_b = base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    dtype = output_a.dtype
    with np.errstate(all="ignore"):
        a, b = base.wide(logsumexp_a), base.wide(logsumexp_b)
        # parts without keys
        a, b = np.where(np.isfinite(a), a, -np.inf), np.where(np.isfinite(b), b, -np.inf)
        share_a, share_b, merged = base.shares(a, b)
        first = np.where(np.isneginf(a)[..., None], 0.0, base.wide(output_a))
        second = np.where(np.isneginf(b)[..., None], 0.0, base.wide(output_b))
        output = share_a[..., None] * first + share_b[..., None] * second
    return {"output": base.narrow(output, dtype), "logsumexp": base.narrow(merged, base.wider(dtype))}
