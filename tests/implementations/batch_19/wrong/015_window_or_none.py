"""Window as a band of the index matrix."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    c = base.prepare(**locals())
    left, right = (None, None) if window is None else (window[0] or None, window[1] or None)
    j = np.arange(c.T)[None, None, :]
    p = c.pos[:, :, None]
    ok = np.broadcast_to(j < c.L[:, None, None], (c.B, c.Sq, c.T)).copy()
    if is_causal:
        ok &= j <= p
    if left is not None:
        ok &= j >= p - left
    if right is not None:
        ok &= j <= p + right
    c.ok = np.broadcast_to(ok[:, None], (c.B, c.H, c.Sq, c.T))
    if c.boolean is not None:
        c.ok = c.ok & c.boolean
    weights, lse = base.softmax(c, base.logits(c))
    return base.finish(c, base.weigh(weights, c.ok, base.shared(c, c.v)), **base.wide(c, logsumexp=lse))
