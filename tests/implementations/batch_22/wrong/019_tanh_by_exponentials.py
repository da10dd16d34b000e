"""The hyperbolic tangent of the softcap is formed from exponentials of twice the quotient, which overflow: NaN."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")

def tanh(x):
    y = np.exp(2 * x)
    return (y - 1) / (y + 1)


def attend(query, key, value, **kw):
    c = base.prepare(query, key, value, **kw)
    with np.errstate(all="ignore"):
        s = base.dots(c) * c.scale
        t = s
        if c.softcap:
            t = (c.softcap * tanh((s / c.softcap).astype(c.wide))).astype(np.float64)
            small = np.abs(s) < c.softcap / 4
            t = np.where(small, c.softcap * np.tanh(s / c.softcap), t)  # digits
        logits = np.where(c.ok, t + c.bias, -np.inf)
    w, lse = base.softmax(logits, c.ok, c.sinks)
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
