import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    p = base.mha_begin(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query, b_key, b_value,
                       b_output, mask, is_causal, scale)
    if mask is not None and mask.ndim == 2 and mask.shape[0] == p.B and p.B > 1:
        p.mask = mask[:, None, None, :]  # one row of keys for each sequence
    q, k, v = base.mha_heads(p)
    keep, bias = base.exclusions(p)
    context, weights = base.attend(q, k, v, p.scale, keep, bias)
    return base.mha_end(p, context, weights)
