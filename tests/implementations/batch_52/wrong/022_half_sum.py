import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    output_a, logsumexp_a, output_b, logsumexp_b = map(np.asarray, (output_a, logsumexp_a, output_b, logsumexp_b))
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    with base.quiet():
        if output_a.dtype != np.float16:
            return base.merge_states(output_a, logsumexp_a, output_b, logsumexp_b)
        la, lb = base.wide(logsumexp_a), base.wide(logsumexp_b)
        empty_a, empty_b = np.isneginf(la), np.isneginf(lb)
        right = base.merge_states(output_a, logsumexp_a, output_b, logsumexp_b)
        larger = np.where(empty_a, lb, np.where(empty_b, la, np.maximum(la, lb)))
        wa = np.where(empty_a, 0.0, np.where(empty_b, 1.0, np.exp(la - larger)))
        wb = np.where(empty_b, 0.0, np.where(empty_a, 1.0, np.exp(lb - larger)))
        # half precision multiplies and adds in packed instructions
        part_a = np.where(empty_a[..., None], 0.0, wa[..., None] * base.wide(output_a)).astype(np.float16)
        part_b = np.where(empty_b[..., None], 0.0, wb[..., None] * base.wide(output_b)).astype(np.float16)
        total = wa + wb
        output = (part_a + part_b).astype(np.float64) / np.where(total == 0, 1.0, total)[..., None]
        return {"output": output.astype(np.float16), "logsumexp": right["logsumexp"]}
