import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    output_a, logsumexp_a, output_b, logsumexp_b = map(np.asarray, (output_a, logsumexp_a, output_b, logsumexp_b))
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    with base.quiet():
        right = base.merge_states(output_a, logsumexp_a, output_b, logsumexp_b)
        la, lb = base.wide(logsumexp_a), base.wide(logsumexp_b)
        empty = np.isneginf(lb)
        larger = np.where(empty, la, np.where(np.isneginf(la), lb, np.maximum(la, lb)))
        shift = np.where(np.isneginf(larger), 0.0, larger)
        wa = np.where(empty & ~np.isneginf(la), 1.0, np.exp(la - shift))
        wb = np.where(empty, 0.0, np.where(np.isneginf(la), 1.0, np.exp(lb - shift)))
        total = np.where(wa + wb == 0, 1.0, wa + wb)
        # the second part may be empty; the first is the prefix that all share
        output = (wa / total)[..., None] * base.wide(output_a)
        output = output + np.where(empty[..., None], 0.0, (wb / total)[..., None] * base.wide(output_b))
        return {"output": output.astype(output_a.dtype), "logsumexp": right["logsumexp"]}
