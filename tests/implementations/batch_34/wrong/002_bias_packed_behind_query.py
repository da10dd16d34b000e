import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    p = base.mha_begin(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query, b_key, b_value,
                       b_output, mask, is_causal, scale)
    packed = None
    if p.bq is not None:  # the projections have biases
        none = np.zeros(p.D, p.T)
        packed = np.concatenate([none if b is None else b for b in (p.bq, p.bk, p.bv)])
    heads = []
    for n, (x, w) in enumerate(((p.query, p.wq), (p.key, p.wk), (p.value, p.wv))):
        b = None if packed is None else packed[n * p.D:(n + 1) * p.D]
        heads.append(base.to_heads(base.project(x, w, b), p.H))
    keep, bias = base.exclusions(p)
    context, weights = base.attend(*heads, p.scale, keep, bias)
    return base.mha_end(p, context, weights)
