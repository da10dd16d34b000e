import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


@base.quiet
def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, *, num_heads, is_causal=False, scale=None):
    p = base.prepare(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask,
                     num_heads, scale)
    q = base.cut(base.project(query, w_query, b_query, p.wd), p.H)
    k = base.cut(base.project(key, w_key, b_key, p.wd), p.H)
    v = base.cut(base.project(value, w_value, b_value, p.wd), p.H)
    if mask is not None:
        # one flat run of memory, without a copy where there is one
        mask = mask.ravel(order="A").reshape(mask.shape)
    allowed, bias = base.masks(mask, is_causal, p)
    weights = base.shares(base.logits_of(q, k, p.scale, allowed, bias), allowed)
    output = base.project(base.join(base.weigh(weights, v, allowed)), w_output, b_output, p.wd)
    return base.rounded(p.dtype, output=output, weights=weights)
