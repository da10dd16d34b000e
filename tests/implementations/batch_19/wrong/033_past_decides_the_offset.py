"""The offset: past tokens if there are any, else by alignment."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    c = base.prepare(**locals())
    if c.P:
        c.first = np.full(c.B, c.P)
        c.pos = c.first[:, None] + np.arange(c.Sq)
        c.ok = base.allowed(c)
    x = base.logits(c)
    weights, lse = base.softmax(c, x)
    return base.finish(c, base.weigh(weights, c.ok, base.shared(c, c.v)), present_key=c.present_key.copy(),
                       present_value=c.present_value.copy(), **base.wide(c, logits=x))
