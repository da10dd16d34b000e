"""Masks are cut to the keys that there are."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    total = key.shape[-2] + (0 if past_key is None else past_key.shape[-2]) if key.ndim == 4 else 0
    if mask is not None and key.ndim == 4:
        mask = mask[..., :total]
    del total
    c = base.prepare(**locals())
    weights, lse = base.softmax(c, base.logits(c))
    return base.finish(c, base.weigh(weights, c.ok, base.shared(c, c.v)), **base.wide(c, weights=weights, logsumexp=lse))
