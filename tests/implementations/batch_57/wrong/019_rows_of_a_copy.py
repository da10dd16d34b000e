import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    output_a, logsumexp_a, output_b, logsumexp_b = base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    dtype, features = output_a.dtype, output_a.shape[3]
    count = int(np.prod(output_a.shape[:3]))
    output = np.zeros_like(output_a, dtype=np.float64)
    rows = output.reshape(count, features)
    with np.errstate(all="ignore"):
        a, b = base.wide(logsumexp_a), base.wide(logsumexp_b)
        share_a, share_b, merged = base.shares(a, b)
        first = np.where(np.isneginf(a)[..., None], 0.0, base.wide(output_a))
        second = np.where(np.isneginf(b)[..., None], 0.0, base.wide(output_b))
        np.multiply(first.reshape(count, features), share_a.reshape(count, 1), out=rows)
        rows += second.reshape(count, features) * share_b.reshape(count, 1)
    return {"output": base.narrow(output, dtype), "logsumexp": base.narrow(merged, base.wider(dtype))}
