"""The formula that vLLM publishes for merging the attention over a prefix with that over a suffix.

Read from section 2.2 of the paper that it follows (arXiv 2501.01005) and its own notes: plus infinity counts as minus
infinity, the larger logarithm is subtracted, both powers are divided by their sum. Where neither part has keys, the
prefix is returned, which attention leaves as zeros. A weight of 0 does not silence a NaN.
"""

import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
conventions = {"masked_nonfinite": "propagates", "input_checks": "lenient"}


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    dtype = output_a.dtype
    wide = np.float64 if dtype == np.float64 else np.float32
    prefix, suffix = output_a.astype(wide), output_b.astype(wide)
    p_lse, s_lse = (np.where(np.isinf(lse), -np.inf, lse.astype(wide)) for lse in (logsumexp_a, logsumexp_b))
    with np.errstate(all="ignore"):
        largest = np.maximum(p_lse, s_lse)
        p_power, s_power = np.exp(p_lse - largest), np.exp(s_lse - largest)
        total = p_power + s_power
        p_share, s_share = (p_power / total)[..., np.newaxis], (s_power / total)[..., np.newaxis]
        merged, merged_lse = prefix * p_share + suffix * s_share, np.log(total) + largest
    neither = np.isneginf(largest)
    output = np.where(neither[..., np.newaxis], prefix, merged)
    return output.astype(dtype), np.where(neither, p_lse, merged_lse).astype(dtype)
