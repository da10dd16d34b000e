import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, num_heads=1, is_causal=False, scale=None):
    c = base.prepare(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask,
                     num_heads, scale)
    allowed, bias = base.permitted(c, mask, is_causal)
    heads, weights = base.attend(*base.projected(c), allowed, bias, c.scale)
    if c.H == 1 and c.E == c.D:  # nothing to mix
        return {"output": base.rounded(base.combine(heads), c.dtype), "weights": base.rounded(weights, c.dtype)}
    return base.finish(c, heads, weights)
