"""What no query can reach is cleaned of NaN before the product."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    c = base.prepare(**locals())
    reached = c.ok.reshape(c.B, c.Hk, c.G, c.Sq, c.T).any(axis=(2, 3)) if c.Hk else np.zeros((c.B, 0, c.T), bool)
    clean = c.present_value.copy()
    clean[~reached[..., None] & ~np.isfinite(clean.astype(np.float64))] = 0
    weights, lse = base.softmax(c, base.logits(c))
    return base.finish(c, base.weigh(weights, c.ok, base.shared(c, c.v)), present_key=c.present_key.copy(), present_value=clean)
