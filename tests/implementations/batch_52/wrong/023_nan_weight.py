import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    output_a, logsumexp_a, output_b, logsumexp_b = map(np.asarray, (output_a, logsumexp_a, output_b, logsumexp_b))
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    with base.quiet():
        la, lb = base.wide(logsumexp_a), base.wide(logsumexp_b)
        larger = np.maximum(la, lb)
        # minus infinity less minus infinity is NaN where neither part has keys
        wa = np.nan_to_num(np.exp(la - larger))
        wb = np.nan_to_num(np.exp(lb - larger))
        total = wa + wb
        safe = np.where(total == 0, 1.0, total)
        output = np.where(np.isneginf(la)[..., None], 0.0, (wa / safe)[..., None] * base.wide(output_a))
        output = output + np.where(np.isneginf(lb)[..., None], 0.0, (wb / safe)[..., None] * base.wide(output_b))
        logsumexp = np.log(total) + larger
        return {"output": output.astype(output_a.dtype), "logsumexp": logsumexp.astype(base.carried(output_a.dtype))}
