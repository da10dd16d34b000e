"""The float mask is added, and that is all."""
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
        if c.add is None:
            x = base.logits(c)
        else:
            ok, full = c.ok, mask.astype(c.work)
            c.add, c.boolean = None, None
            s = base.biased(c, base.capped(c, base.scores(c))) + full
            x = np.where(base.allowed(c), s, -np.inf)
    weights, lse = base.softmax(c, x)
    return base.finish(c, base.weigh(weights, c.ok, base.shared(c, c.v)), **base.wide(c, logsumexp=lse))
