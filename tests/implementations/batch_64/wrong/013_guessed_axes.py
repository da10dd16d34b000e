import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def heads_first(x, count):
    x = x.reshape(*x.shape[:2], count, x.shape[2] // count)
    if x.shape[1] != count:  # tokens before heads
        x = x.swapaxes(1, 2)
    return x


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, num_heads=1, is_causal=False, scale=None):
    c = base.prepare(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask,
                     num_heads, scale)
    queries, keys, values = (heads_first(base.project(*each), c.H) for each in (
        (c.query, c.w_query, c.b_query), (c.key, c.w_key, c.b_key), (c.value, c.w_value, c.b_value)))
    allowed, bias = base.permitted(c, mask, is_causal)
    heads, weights = base.attend(queries, keys, values, allowed, bias, c.scale)
    return base.finish(c, heads, weights)
