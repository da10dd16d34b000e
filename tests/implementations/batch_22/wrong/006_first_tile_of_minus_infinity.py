"""In an online softmax the row that has met only scores of minus infinity in its first tile of 32 keys becomes NaN, because only rows without allowed keys are guarded."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")

TILE = 32


def attend(query, key, value, **kw):
    c = base.prepare(query, key, value, **kw)
    k, v = np.repeat(c.k, c.group, 1), np.repeat(c.v, c.group, 1)
    shape = (c.B, c.Hq, c.Sq)
    m = np.full(shape, -np.inf)
    l = np.zeros(shape)
    if c.sinks is not None:
        m[:] = c.sinks[:, None]
        l[:] = 1
    acc = np.zeros(shape + (c.Ev,))
    with np.errstate(all="ignore"):
        for j in range(0, c.St, TILE):
            part = slice(j, j + TILE)
            ok = c.ok[..., part]
            s = base.cap(np.einsum("bhie,bhje->bhij", c.q, k[:, :, part]) * c.scale, c.softcap) + c.bias[..., part]
            s = np.where(ok, s, -np.inf)
            touched = ok.any(-1)  # rows with nothing allowed here keep what they have
            new = np.maximum(m, s.max(-1))
            alpha = np.where(touched, np.exp(m - new), 1)
            p = np.where(ok, np.exp(s - new[..., None]), 0)
            l = np.where(touched, l * alpha + p.sum(-1), l)
            add = np.where(ok[..., None], p[..., None] * v[:, :, None, part], 0).sum(3)
            acc = np.where(touched[..., None], acc * alpha[..., None] + add, acc)
            m = np.where(touched, new, m)
        out = acc / np.where(l == 0, 1, l)[..., None]
        lse = np.log(l) + np.where(l == 0, 0, m)
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
