"""Entries are sorted by length, long ones first, and put back."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    base.check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, query_scale, key_scale, value_scale)
    c = base.prepare(**locals())
    order = np.argsort(-c.L, kind="stable")
    output = np.zeros((c.B, c.H, c.Sq, c.Ev), c.work)
    x = base.logits(c)
    weights, lse = base.softmax(c, x)
    sorted_output = np.stack([base.weigh(weights[b], c.ok[b], np.repeat(c.v[b], c.G, axis=0)) for b in order]) if c.B else output
    return base.finish(c, sorted_output[order])
