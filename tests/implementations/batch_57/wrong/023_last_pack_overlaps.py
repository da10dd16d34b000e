import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


PACK = 8


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    output_a, logsumexp_a, output_b, logsumexp_b = base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    dtype, features = output_a.dtype, output_a.shape[3]
    with np.errstate(all="ignore"):
        a, b = base.wide(logsumexp_a), base.wide(logsumexp_b)
        share_a, share_b, merged = base.shares(a, b)
        share_a, share_b = share_a[..., None], share_b[..., None]
        output = np.where(np.isneginf(a)[..., None], 0.0, base.wide(output_a))
        second = np.where(np.isneginf(b)[..., None], 0.0, base.wide(output_b))
        for start in range(0, features, PACK):
            start = max(0, min(start, features - PACK))  # whole packs only
            pack = slice(start, min(start + PACK, features))
            output[..., pack] = share_a * output[..., pack] + share_b * second[..., pack]
    return {"output": base.narrow(output, dtype), "logsumexp": base.narrow(merged, base.wider(dtype))}
