"""Padding is cleared first, so that nothing in it can hurt."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
def clear(array, lengths):
    for b, length in enumerate(lengths):
        array[b, :, int(length):] = 0


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    if key_lengths is not None:
        base.check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, query_scale, key_scale, value_scale)
        key, value = (a if a.flags.writeable else a.copy() for a in (key, value))
        clear(key, key_lengths)
        clear(value, key_lengths)
    c = base.prepare(**locals())
    weights, lse = base.softmax(c, base.logits(c))
    return base.finish(c, base.weigh(weights, c.ok, base.shared(c, c.v)), **base.wide(c, weights=weights, logsumexp=lse))
