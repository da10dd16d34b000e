import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    p = base.mha_begin(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query, b_key, b_value,
                       b_output, mask, is_causal, scale)
    if query is key:  # self-attention: one product for all three projections
        packed = base.project(p.query, np.concatenate([p.wq, p.wk, p.wv], axis=1))
        q, k, v = np.split(packed, 3, axis=-1)
    elif key is value:  # encoder and decoder: one product for both
        packed = base.project(p.key, np.concatenate([p.wk, p.wv], axis=1))
        q, (k, v) = base.project(p.query, p.wq), np.split(packed, 2, axis=-1)
    else:
        q, k, v = base.project(p.query, p.wq), base.project(p.key, p.wk), base.project(p.value, p.wv)
    q, k, v = (base.to_heads(x if b is None else x + b, p.H) for x, b in ((q, p.bq), (k, p.bk), (v, p.bv)))
    keep, bias = base.exclusions(p)
    context, weights = base.attend(q, k, v, p.scale, keep, bias)
    return base.mha_end(p, context, weights)
