"""Causality by lengths, then the band."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    c = base.prepare(**locals())
    left, right = c.left, c.right
    c.left = c.right = None
    ok = base.allowed(c)
    begin = c.P if c.alignment == "top_left" else c.T - c.Sq
    centre = begin + np.arange(c.Sq)[:, None]
    j = np.arange(c.T)
    if left is not None:
        ok &= j >= centre - left
    if right is not None:
        ok &= j <= centre + right
    c.ok = ok
    weights, lse = base.softmax(c, base.logits(c))
    return base.finish(c, base.weigh(weights, c.ok, base.shared(c, c.v)), **base.wide(c, weights=weights, logsumexp=lse))
