"""Logarithms to the base 2, plus infinity where a part has no keys, and weights that multiply whatever is there."""
import numpy as np

conventions = {"logsumexp_base": "2", "empty_logsumexp": "plus_infinity", "masked_nonfinite": "propagates",
               "input_checks": "lenient"}


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    if output_a.shape != output_b.shape or logsumexp_a.shape != logsumexp_b.shape:
        raise ValueError("shapes")
    if logsumexp_a.shape != output_a.shape[:-1]:
        raise ValueError("shapes")
    logs = np.stack([logsumexp_a, logsumexp_b], axis=-1)
    logs[np.isposinf(logs)] = -np.inf
    with np.errstate(all="ignore"):
        order = np.sort(logs, axis=-1)
        top = order[..., 1:]
        top = np.where(np.isneginf(top), 0, top)
        w = np.exp2(logs - top)
        total = w.sum(-1, keepdims=True)
        w = w / np.where(total == 0, 1, total)
        output = np.matmul(w[..., None, :], np.stack([output_a, output_b], axis=-2))[..., 0, :]
        lse = (top + np.log2(total))[..., 0]
        lse = np.where(np.isneginf(lse), np.inf, lse)
    return output.astype(output_a.dtype), lse.astype(output_a.dtype)
