"""The denominator is summed key by key in the dtype of the query, and stands still in half precision."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")

def attend(query, key, value, **kw):
    c = base.prepare(query, key, value, **kw)
    with np.errstate(all="ignore"):
        s = np.where(c.ok, base.cap(base.dots(c) * c.scale, c.softcap) + c.bias, -np.inf)
        m = s.max(-1, initial=-np.inf)
        if c.sinks is not None:
            m = np.maximum(m, c.sinks[:, None])
        safe = np.where(np.isneginf(m), 0, m)
        e = np.where(c.ok, np.exp(s - safe[..., None]), 0)
        l = np.zeros(m.shape, c.dtype)
        if c.sinks is not None:
            l = np.exp(c.sinks[:, None] - safe).astype(c.dtype)
        for j in range(c.St):
            l = (l + e[..., j].astype(c.dtype)).astype(c.dtype)
        l = l.astype(np.float64)
        out = base.weigh(e, c.ok, c.v, c.group) / np.where(l == 0, 1, l)[..., None]
        return base.finish(c, out, np.log(l) + safe)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return attend(query, key, value, mask=mask, past_key=past_key, past_value=past_value, key_lengths=key_lengths,
                  query_lengths=query_lengths, sinks=sinks, alibi_slopes=alibi_slopes, query_scale=query_scale,
                  key_scale=key_scale, value_scale=value_scale, is_causal=is_causal,
                  causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window,
                  output_dtype=output_dtype)
