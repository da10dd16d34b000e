"""Key and value heads are tiled instead of repeated, so that query head h reads head h % Hkv."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")

def attend(query, key, value, **kw):
    c = base.prepare(query, key, value, **kw)
    k = np.tile(c.k, (1, c.group, 1, 1))
    v = np.tile(c.v, (1, c.group, 1, 1))
    with np.errstate(all="ignore"):
        scores = c.q @ k.swapaxes(-1, -2) * c.scale
        logits = np.where(c.ok, base.cap(scores, c.softcap) + c.bias, -np.inf)
    w, lse = base.softmax(logits, c.ok, c.sinks)
    return base.finish(c, base.weigh(w, c.ok, v, 1), lse, weights=w, logits=logits)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return attend(query, key, value, mask=mask, past_key=past_key, past_value=past_value, key_lengths=key_lengths,
                  query_lengths=query_lengths, sinks=sinks, alibi_slopes=alibi_slopes, query_scale=query_scale,
                  key_scale=key_scale, value_scale=value_scale, is_causal=is_causal,
                  causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window,
                  output_dtype=output_dtype)
