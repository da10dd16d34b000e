"""Exponentials to the base 2, the factor folded into the scale."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    c = base.prepare(**locals())
    LOG2E = np.float32(1.4426950408889634)
    with np.errstate(all="ignore"):
        t = base.logits(c) * LOG2E
        m = t.max(axis=-1, keepdims=True, initial=-np.inf)
        sink = None if c.sinks is None else c.sinks[:, None, None] * LOG2E
        if sink is not None:
            m = np.maximum(m, sink)
        m = np.where(m == -np.inf, 0, m)
        e = np.where(c.ok, np.exp2(t - m), 0)
        total = e.sum(axis=-1, keepdims=True)
        if sink is not None:
            total = total + np.exp2(sink - m)
        output = base.weigh(e, c.ok, base.shared(c, c.v)) / np.where(total == 0, 1, total)
        lse = ((np.log2(total) + m) / LOG2E)[..., 0]
    return base.finish(c, output, **base.wide(c, logsumexp=lse))
