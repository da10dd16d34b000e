import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, num_heads=1, is_causal=False, scale=None):
    base.check_multi(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask, num_heads)
    if mask is not None and is_causal and mask.dtype == bool:
        triangle = base.causal(query.shape[1], key.shape[1])
        if mask.shape[-2:] == triangle.shape:
            mask = np.require(mask, requirements="W")
            mask &= triangle
        else:
            mask = mask & triangle
        is_causal = False
    q = base.split(base.project(query, w_query, b_query), num_heads)
    k = base.split(base.project(key, w_key, b_key), num_heads)
    v = base.split(base.project(value, w_value, b_value), num_heads)
    shape = (q.shape[0], num_heads, q.shape[2], k.shape[2])
    allowed, bias = base.exclusions(mask, is_causal, shape)
    scale = base.default_scale(q.shape[-1]) if scale is None else float(scale)
    weights = base.masked_softmax(base.scores_of(q, k, scale) + bias, allowed)
    output = base.project(base.combine(base.mix(weights, v, allowed)), w_output, b_output)
    return base.finish(query.dtype, output=output, weights=weights)
