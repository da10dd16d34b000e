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
    biases = [np.zeros(p.D, p.wd) if b is None else b.astype(p.wd) for b in (b_query, b_key, b_value)]
    if query.shape == key.shape and np.array_equal(query, key):
        # self-attention: one product for the three projections
        w_fused = np.concatenate([w_query, w_key, w_value], axis=1)
        fused = base.project(query, w_fused, np.concatenate(biases), p.wd)
        q, k, v = np.split(fused, 3, axis=-1)
    else:
        q = base.project(query, w_query, biases[0], p.wd)
        k = base.project(key, w_key, biases[1], p.wd)
        v = base.project(value, w_value, biases[2], p.wd)
    q, k, v = (base.cut(x, p.H) for x in (q, k, v))
    allowed, bias = base.masks(mask, is_causal, p)
    weights = base.shares(base.logits_of(q, k, p.scale, allowed, bias), allowed)
    output = base.project(base.join(base.weigh(weights, v, allowed)), w_output, b_output, p.wd)
    return base.rounded(p.dtype, output=output, weights=weights)
