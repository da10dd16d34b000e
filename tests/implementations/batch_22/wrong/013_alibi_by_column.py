"""With causality ALiBi is added as slope times column, which shifts each row: logsumexp and the share of a sink are off."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")

def attend(query, key, value, **kw):
    c = base.prepare(query, key, value, **kw)
    bias = c.bias
    if c.slopes is not None and c.is_causal:
        # a row may be shifted as one: no distances are needed where nothing lies behind the query
        bias = bias + c.slopes[:, None, None] * np.abs(c.pos[:, :, None] - np.arange(c.St))[:, None]
        bias = bias + (c.slopes[:, None] * np.arange(c.St))[None, :, None]
    with np.errstate(all="ignore"):
        s = base.cap(base.dots(c) * c.scale, c.softcap) + bias
        s = np.where(c.ok, s, -np.inf)
    w, lse = base.softmax(s, c.ok, c.sinks)
    return base.finish(c, base.weigh(w, c.ok, c.v, c.group), lse)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return attend(query, key, value, mask=mask, past_key=past_key, past_value=past_value, key_lengths=key_lengths,
                  query_lengths=query_lengths, sinks=sinks, alibi_slopes=alibi_slopes, query_scale=query_scale,
                  key_scale=key_scale, value_scale=value_scale, is_causal=is_causal,
                  causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window,
                  output_dtype=output_dtype)
