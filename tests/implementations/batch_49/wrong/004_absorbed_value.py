import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = base.DTYPES


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    base.check_multi(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                     (b_query, b_key, b_value, b_output), mask)
    heads, dtype = int(num_heads), query.dtype
    q = base.cut(base.project(query, w_query, b_query, dtype), heads)
    k = base.cut(base.project(key, w_key, b_key, dtype), heads)
    shape = (q.shape[0], heads, q.shape[2], k.shape[2])
    allowed, added = base.allowed_and_bias(mask, is_causal, shape, dtype)
    scale = base.the_scale(scale, q.shape[-1], dtype)
    with np.errstate(all="ignore"):
        weights = base.shares(base.logits_of(base.dots(q, k) * scale, allowed, added))
        # weigh the tokens themselves, and project what is left of them: fewer products where keys are many
        tokens = base.widen(value, dtype)[:, None]
        width = q.shape[-1]
        matrix = base.widen(w_value, dtype).reshape(tokens.shape[-1], heads, width).transpose(1, 0, 2)
        mixed = base.weigh(weights, tokens, allowed) @ matrix
        if b_value is not None:
            mixed = mixed + base.widen(b_value, dtype).reshape(heads, 1, width)
    return base.finish(mixed, weights, w_output, b_output, dtype)
