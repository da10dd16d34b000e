import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, num_heads=1, is_causal=False, scale=None):
    c = base.prepare(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask,
                     num_heads, scale)
    # one packed bias for the packed projection
    packed = None
    if c.b_query is not None and c.b_key is not None and c.b_value is not None:
        packed = np.concatenate([c.b_query, c.b_key, c.b_value])
    c.b_query, c.b_key, c.b_value = (None,) * 3 if packed is None else np.split(packed, 3)
    allowed, bias = base.permitted(c, mask, is_causal)
    heads, weights = base.attend(*base.projected(c), allowed, bias, c.scale)
    return base.finish(c, heads, weights)
