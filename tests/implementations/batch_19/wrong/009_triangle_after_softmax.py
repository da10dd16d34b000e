"""Softmax first, then the triangle and the window."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    c = base.prepare(**locals())
    x = base.biased(c, base.capped(c, base.scores(c)))
    causal, left, right = c.causal, c.left, c.right
    ok = c.ok
    c.causal, c.left, c.right = False, None, None
    c.ok = base.allowed(c) & (ok | np.isfinite(x))
    weights, lse = base.softmax(c, base.excluded(c, x))
    return base.finish(c, base.weigh(weights, ok, base.shared(c, c.v)))
