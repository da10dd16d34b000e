"""Values that nobody may attend to are cleared; then one product."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    c = base.prepare(**locals())
    weights, lse = base.softmax(c, base.logits(c))
    v = base.shared(c, c.v)
    v = np.where(c.ok.any(axis=2)[..., None], v, 0)
    with np.errstate(all="ignore"):
        output = weights @ v
    return base.finish(c, output, **base.wide(c, weights=weights, logsumexp=lse))
