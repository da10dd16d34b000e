"""The steps of the page, one by one."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    scale = scale or query.shape[-1] ** -0.5
    c = base.prepare(**locals())
    s = base.scores(c)
    x = base.excluded(c, base.biased(c, base.capped(c, s)))
    weights, lse = base.softmax(c, x)
    output = base.weigh(weights, c.ok, base.shared(c, c.v))
    return base.finish(c, output, **base.wide(c, weights=weights, logsumexp=lse, scores=s, logits=x))
