"""Returns early where there are no keys."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    c = base.prepare(**locals())
    if c.T == 0:
        return base.finish(c, np.zeros((c.B, c.H, c.Sq, c.Ev)), **base.wide(
            c, weights=np.zeros((c.B, c.H, c.Sq, 0)), logsumexp=np.full((c.B, c.H, c.Sq), -np.inf)))
    weights, lse = base.softmax(c, base.logits(c))
    return base.finish(c, base.weigh(weights, c.ok, base.shared(c, c.v)), **base.wide(c, weights=weights, logsumexp=lse))
