import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = base.DTYPES


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                         b_query=None, b_key=None, b_value=None, b_output=None,
                         mask=None, is_causal=False, scale=None):
    p = base.plan(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                  b_query, b_key, b_value, b_output, mask, is_causal, scale)
    q = base.split(base.project(p.query, p.w_query, p.b_query), p.H)
    k = base.split(base.project(p.key, p.w_key, p.b_key), p.H)
    v = base.split(base.project(p.value, p.w_value, p.b_value), p.H)
    m = p.mask
    if m is not None and m.ndim == 3 and m.shape[0] == p.B:
        m = m[:, None]  # one mask for each batch entry
    allowed, bias = base.mask_terms(m, p.is_causal, (p.B, p.H, p.Sq, p.Sk), p.acc)
    context, weights = base.attend(q, k, v, allowed, bias, p.scale)
    return base.finish(p, base.combine(context), weights)
