"""The distance bias is added to the scores before the softcap, and capped with them."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")

def attend(query, key, value, **kw):
    c = base.prepare(query, key, value, **kw)
    cols = np.arange(c.St)
    out = np.zeros((c.B, c.Hq, c.Sq, c.Ev))
    lse = np.zeros((c.B, c.Hq, c.Sq))
    for b in range(c.B):
        for h in range(c.Hq):
            with np.errstate(all="ignore"):
                s = c.q[b, h] @ c.k[b, h // c.group].T * c.scale
                rest = c.bias[b, h]
                if c.slopes is not None:
                    bias = -c.slopes[h] * np.abs(c.pos[b][:, None] - cols)
                    s, rest = s + bias, rest - bias
                logits = np.where(c.ok[b, h], base.cap(s, c.softcap) + rest, -np.inf)
            w, l = base.softmax(logits[None, None], c.ok[b:b + 1, h:h + 1], None if c.sinks is None else c.sinks[h:h + 1])
            g = h // c.group
            out[b, h] = base.weigh(w, c.ok[b:b + 1, h:h + 1], c.v[b:b + 1, g:g + 1], 1)[0, 0]
            lse[b, h] = l[0, 0]
    return base.finish(c, out, lse)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return attend(query, key, value, mask=mask, past_key=past_key, past_value=past_value, key_lengths=key_lengths,
                  query_lengths=query_lengths, sinks=sinks, alibi_slopes=alibi_slopes, query_scale=query_scale,
                  key_scale=key_scale, value_scale=value_scale, is_causal=is_causal,
                  causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window,
                  output_dtype=output_dtype)
