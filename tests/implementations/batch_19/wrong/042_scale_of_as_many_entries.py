"""Scales of one axis are given their place by their length."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    c = base.prepare(**locals())

    def place(factor):
        factor = np.asarray(factor, c.work)
        if factor.ndim == 1 and len(factor) == c.B:
            factor = factor[:, None]
        return np.broadcast_to(factor, (c.B, c.Hk))[:, :, None, None]

    if query_scale is not None:
        c.q = query.astype(c.work) * np.repeat(place(query_scale), c.G, axis=1)
    if key_scale is not None:
        c.k = c.present_key.astype(c.work) * place(key_scale)
    if value_scale is not None:
        c.v = c.present_value.astype(c.work) * place(value_scale)
    weights, lse = base.softmax(c, base.logits(c))
    return base.finish(c, base.weigh(weights, c.ok, base.shared(c, c.v)))
