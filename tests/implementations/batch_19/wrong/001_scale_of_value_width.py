"""Attention with one einsum for the scores and one for the result."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    c = base.prepare(**locals())
    if scale is None:
        c.scale = c.work.type(value.shape[-1] ** -0.5) if value.shape[-1] else c.work.type(1)
    with np.errstate(all="ignore"):
        s = np.einsum("bgrie,bgje->bgrij", c.q.reshape(c.B, c.Hk, c.G, c.Sq, c.E), c.k).reshape(c.B, c.H, c.Sq, c.T) * c.scale
    weights, lse = base.softmax(c, base.excluded(c, base.biased(c, base.capped(c, s))))
    return base.finish(c, base.weigh(weights, c.ok, base.shared(c, c.v)), **base.wide(c, weights=weights, logsumexp=lse))
