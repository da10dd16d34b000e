"""Reads keys and values by strides, as a kernel with pointers does."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    c = base.prepare(**locals())
    k, v = c.present_key, c.present_value
    if k.shape == v.shape and k.dtype == v.dtype and k.size:
        reach = [sum((n - 1) * s for n, s in zip(a.shape, a.strides)) for a in (k, v)]
        if min(k.strides) >= 0 and min(v.strides) >= 0 and reach[0] <= reach[1]:
            v = np.lib.stride_tricks.as_strided(v, v.shape, k.strides, writeable=False)
            c.v = v.astype(c.work)
            if value_scale is not None:
                c.v = c.v * base.per_head(value_scale, c.B, c.Hk)[:, :, None, None].astype(c.work)
    weights, lse = base.softmax(c, base.logits(c))
    return base.finish(c, base.weigh(weights, c.ok, base.shared(c, c.v)), **base.wide(c, logsumexp=lse))
