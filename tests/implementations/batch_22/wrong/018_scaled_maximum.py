"""The largest score is found before the scale and multiplied afterwards, which with a negative scale is the smallest: exponentials overflow."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")

def attend(query, key, value, **kw):
    c = base.prepare(query, key, value, **kw)
    with np.errstate(all="ignore"):
        raw = base.dots(c).astype(c.wide)
        if c.softcap or c.slopes is not None or (c.mask is not None and c.mask.dtype != bool):
            s = np.where(c.ok, base.cap(raw * c.scale, c.softcap) + c.bias, -np.inf)
            m = s.max(-1, initial=-np.inf)
        else:
            s = np.where(c.ok, raw * c.scale, -np.inf)
            m = np.where(c.ok, raw, -np.inf).max(-1, initial=-np.inf) * c.scale  # one product for each row
        none = ~c.ok.any(-1)
        m = np.where(none | np.isnan(m) & (c.scale == 0), -np.inf, m)
        if c.sinks is not None:
            m = np.maximum(m, c.sinks[:, None])
        m = np.where(np.isneginf(m), 0, m).astype(c.wide)
        e = np.where(c.ok, np.exp((s - m[..., None]).astype(c.wide)), 0)
        l = e.sum(-1, dtype=np.float64)
        if c.sinks is not None:
            l = l + np.exp(c.sinks[:, None] - m)
        out = base.weigh(e, c.ok, c.v, c.group) / np.where(l == 0, 1, l)[..., None]
        return base.finish(c, out, np.log(l) + m)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return attend(query, key, value, mask=mask, past_key=past_key, past_value=past_value, key_lengths=key_lengths,
                  query_lengths=query_lengths, sinks=sinks, alibi_slopes=alibi_slopes, query_scale=query_scale,
                  key_scale=key_scale, value_scale=value_scale, is_causal=is_causal,
                  causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window,
                  output_dtype=output_dtype)
