import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, num_heads=1, is_causal=False, scale=None):
    c = base.prepare(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask,
                     num_heads, scale)
    if key is value or (key.base is not None and key.base is value.base):  # one tensor: project it once
        pair = c.key @ np.concatenate([c.w_key, c.w_value], axis=1)
        keys, values = pair[..., :c.D], pair[..., c.D:]
        keys = keys if c.b_key is None else keys + c.b_key
        values = values if c.b_value is None else values + c.b_value
        queries = base.split(base.project(c.query, c.w_query, c.b_query), c.H)
        keys, values = base.split(keys, c.H), base.split(values, c.H)
    else:
        queries, keys, values = base.projected(c)
    allowed, bias = base.permitted(c, mask, is_causal)
    heads, weights = base.attend(queries, keys, values, allowed, bias, c.scale)
    return base.finish(c, heads, weights)
