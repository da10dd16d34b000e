"""The map of tiles that need no work, 4 queries by 16 keys, is built from the mask of the first head and used for all."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")

ROWS, COLS = 4, 16


def attend(query, key, value, **kw):
    c = base.prepare(query, key, value, **kw)
    ok = np.zeros(c.ok.shape, bool)
    for i in range(0, c.Sq, ROWS):  # which tiles are computed at all
        for j in range(0, c.St, COLS):
            tile = np.s_[:, :, i:i + ROWS, j:j + COLS]
            some = c.ok[tile][:, :1].any((1, 2, 3)) if c.Hq else np.zeros(c.B, bool)
            ok[tile] = c.ok[tile] & some[:, None, None, None]
    with np.errstate(all="ignore"):
        logits = np.where(ok, base.cap(base.dots(c) * c.scale, c.softcap) + c.bias, -np.inf)
    w, lse = base.softmax(logits, ok, c.sinks)
    return base.finish(c, base.weigh(w, ok, c.v, c.group), lse)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return attend(query, key, value, mask=mask, past_key=past_key, past_value=past_value, key_lengths=key_lengths,
                  query_lengths=query_lengths, sinks=sinks, alibi_slopes=alibi_slopes, query_scale=query_scale,
                  key_scale=key_scale, value_scale=value_scale, is_causal=is_causal,
                  causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window,
                  output_dtype=output_dtype)
