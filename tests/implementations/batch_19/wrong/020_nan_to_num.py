"""Rows without keys give 0 divided by 0, which is cleaned."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    c = base.prepare(**locals())
    with np.errstate(all="ignore"):
        x = base.logits(c)
        m = x.max(axis=-1, keepdims=True, initial=-np.inf)
        if c.sinks is not None:
            m = np.maximum(m, c.sinks[:, None, None])
        e = np.exp(x - m)
        total = e.sum(axis=-1, keepdims=True)
        if c.sinks is not None:
            total = total + np.exp(c.sinks[:, None, None] - m)
        weights = np.nan_to_num(e / total)
    return base.finish(c, base.weigh(weights, c.ok, base.shared(c, c.v)))
