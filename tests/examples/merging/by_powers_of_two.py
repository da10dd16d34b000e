"""The formula that FlashInfer publishes for merging two states, in logarithms to the base 2.

Read from its documentation of cascade inference: V = (V_a 2^s_a + V_b 2^s_b) / (2^s_a + 2^s_b), with the larger
logarithm subtracted. Both weights are powers of a distance, so two parts without keys are NaN, and a weight of 0 does
not silence a NaN.
"""

import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
conventions = {"logsumexp_base": "2", "masked_nonfinite": "propagates", "input_checks": "lenient"}


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    dtype = output_a.dtype
    wide = np.float64 if dtype == np.float64 else np.float32
    v_a, s_a, v_b, s_b = (array.astype(wide) for array in (output_a, logsumexp_a, output_b, logsumexp_b))
    with np.errstate(all="ignore"):
        s_max = np.maximum(s_a, s_b)
        w_a, w_b = np.exp2(s_a - s_max), np.exp2(s_b - s_max)
        share_a, share_b = w_a / (w_a + w_b), w_b / (w_a + w_b)
        merged = share_a[..., np.newaxis] * v_a + share_b[..., np.newaxis] * v_b
        return merged.astype(dtype), (np.log2(w_a + w_b) + s_max).astype(dtype)
