"""The new keys are multiplied by their scales and put behind the past."""
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
        if key_scale is not None:
            c.k = np.concatenate([past_key.astype(c.work), c.k[:, :, c.P:]], axis=2)
        if value_scale is not None:
            c.v = np.concatenate([past_value.astype(c.work), c.v[:, :, c.P:]], axis=2)
    weights, lse = base.softmax(c, base.logits(c))
    return base.finish(c, base.weigh(weights, c.ok, base.shared(c, c.v)), **base.wide(c, logsumexp=lse))
