import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    output_a, logsumexp_a, output_b, logsumexp_b = base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    dtype = output_a.dtype
    work = base.wider(dtype)
    with np.errstate(all="ignore"):
        a, b = logsumexp_a.astype(work), logsumexp_b.astype(work)
        empty_a, empty_b = np.isneginf(a), np.isneginf(b)
        known = np.where(np.isnan(a) | np.isnan(b), -np.inf, np.maximum(a, b))
        top = known.max(axis=-1, keepdims=True, initial=-np.inf)
        top = np.where(np.isneginf(top), work.type(0), top)
        weight_a = np.where(empty_a, work.type(0), np.exp(a - top))
        weight_b = np.where(empty_b, work.type(0), np.exp(b - top))
        total = weight_a + weight_b
        divisor = np.where(total == 0, work.type(1), total)
        first = np.where(empty_a[..., None], work.type(0), output_a.astype(work))
        second = np.where(empty_b[..., None], work.type(0), output_b.astype(work))
        output = (weight_a / divisor)[..., None] * first + (weight_b / divisor)[..., None] * second
        merged = np.log(total) + top
    return {"output": base.narrow(output, dtype), "logsumexp": base.narrow(merged, work)}
