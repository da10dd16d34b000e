import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    output_a, logsumexp_a, output_b, logsumexp_b = map(np.asarray, (output_a, logsumexp_a, output_b, logsumexp_b))
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    with base.quiet():
        la, lb = base.wide(logsumexp_a), base.wide(logsumexp_b)
        larger = np.where(np.isneginf(la), lb, np.where(np.isneginf(lb), la, np.maximum(la, lb)))
        larger = np.where(np.isneginf(larger), 0.0, larger)  # no inf - inf
        wa = np.where(np.isneginf(la), 0.0, np.where(np.isneginf(lb), 1.0, np.exp(la - larger)))
        wb = np.where(np.isneginf(lb), 0.0, np.where(np.isneginf(la), 1.0, np.exp(lb - larger)))
        total = np.maximum(wa + wb, np.finfo(np.float32).tiny)  # never divide by 0
        output = np.where(np.isneginf(la)[..., None], 0.0, (wa / total)[..., None] * base.wide(output_a))
        output = output + np.where(np.isneginf(lb)[..., None], 0.0, (wb / total)[..., None] * base.wide(output_b))
        logsumexp = larger + np.log(total)
        return {"output": output.astype(output_a.dtype), "logsumexp": logsumexp.astype(base.carried(output_a.dtype))}
