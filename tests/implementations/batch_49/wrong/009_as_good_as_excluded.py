import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = base.DTYPES

FLOOR = -1e4  # whoever writes less than this means minus infinity


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    base.check_multi(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                     (b_query, b_key, b_value, b_output), mask)
    heads, dtype = int(num_heads), query.dtype
    q = base.cut(base.project(query, w_query, b_query, dtype), heads)
    k = base.cut(base.project(key, w_key, b_key, dtype), heads)
    v = base.cut(base.project(value, w_value, b_value, dtype), heads)
    shape = (q.shape[0], heads, q.shape[2], k.shape[2])
    allowed, added = base.allowed_and_bias(mask, is_causal, shape, dtype)
    if added is not None:
        allowed &= ~(added <= FLOOR)
    scale = base.the_scale(scale, q.shape[-1], dtype)
    mixed, weights = base.attend(q, k, v, allowed, added, scale)
    return base.finish(mixed, weights, w_output, b_output, dtype)
