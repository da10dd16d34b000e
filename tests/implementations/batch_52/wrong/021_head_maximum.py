import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    output_a, logsumexp_a, output_b, logsumexp_b = map(np.asarray, (output_a, logsumexp_a, output_b, logsumexp_b))
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    with base.quiet():
        la, lb = base.wide(logsumexp_a), base.wide(logsumexp_b)
        empty_a, empty_b = np.isneginf(la), np.isneginf(lb)
        larger = np.maximum(la, lb)
        # rows that are NaN stay NaN and are kept from the others
        largest = np.where(np.isnan(larger), -np.inf, larger).max(axis=-1, keepdims=True, initial=-np.inf)  # one for each head
        shift = np.where(np.isnan(larger), larger, np.where(np.isneginf(largest), 0.0, largest))
        wa = np.where(empty_a, 0.0, np.where(empty_b, 1.0, np.exp(la - shift)))
        wb = np.where(empty_b, 0.0, np.where(empty_a, 1.0, np.exp(lb - shift)))
        total = wa + wb
        safe = np.where(total == 0, 1.0, total)
        output = np.where(empty_a[..., None], 0.0, (wa / safe)[..., None] * base.wide(output_a))
        output = output + np.where(empty_b[..., None], 0.0, (wb / safe)[..., None] * base.wide(output_b))
        logsumexp = np.where(empty_a, lb, np.where(empty_b, la, np.log(total) + shift))
        return {"output": output.astype(output_a.dtype), "logsumexp": logsumexp.astype(base.carried(output_a.dtype))}
