"""A loop over batch entries and query heads."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    c = base.prepare(**locals())
    x = np.empty((c.B, c.H, c.Sq, c.T), c.work)
    v = np.empty((c.B, c.H, c.T, c.Ev), c.work)
    with np.errstate(all="ignore"):
        for b, h in base.heads(c):
            g = h % c.Hk
            x[b, h] = c.q[b, h] @ c.k[b, g].T * c.scale
            v[b, h] = c.v[b, g]
    x = base.excluded(c, base.biased(c, base.capped(c, x)))
    weights, lse = base.softmax(c, x)
    return base.finish(c, base.weigh(weights, c.ok, v), **base.wide(c, weights=weights, logsumexp=lse, logits=x))
