"""The formula that ring attention publishes: the state so far is moved towards the next block by a sigmoid.

Its first block is taken as it is, so it never merges a state without keys; the guard for one stands here.
"""

import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
conventions = {"masked_nonfinite": "propagates", "input_checks": "lenient"}


def _softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    dtype = output_a.dtype
    wide = np.float64 if dtype == np.float64 else np.float32
    out, lse, block_out, block_lse = (array.astype(wide) for array in (output_a, logsumexp_a, output_b, logsumexp_b))
    with np.errstate(all="ignore"):
        share = np.exp(-_softplus(lse - block_lse))[..., np.newaxis]
        moved, moved_lse = out - share * (out - block_out), lse + _softplus(block_lse - lse)
    first, empty = np.isneginf(lse), np.isneginf(block_lse)
    output = np.where(empty[..., np.newaxis], out, np.where(first[..., np.newaxis], block_out, moved))
    output = np.where((first & empty)[..., np.newaxis], 0, output)
    return output.astype(dtype), np.where(empty, lse, np.where(first, block_lse, moved_lse)).astype(dtype)
