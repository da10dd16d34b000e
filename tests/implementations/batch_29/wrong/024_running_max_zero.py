import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

TILE = 8


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    a = base.prepare(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, alibi_slopes,
                     is_causal, causal_alignment, window, scale)
    ct = a.ct
    m = np.full((a.B, a.Hq, a.Sq, 1), -np.inf, ct)
    l = np.zeros_like(m)
    acc = np.zeros((a.B, a.Hq, a.Sq, a.Ev), ct)
    with np.errstate(all="ignore"):
        for j in range(0, a.n, TILE):
            cols = slice(j, j + TILE)
            ok = a.ok[..., cols]
            s = np.einsum("bhie,bhje->bhij", a.q, a.k[:, :, cols]) * a.scale
            if softcap:
                s = np.tanh(s / ct.type(softcap)) * ct.type(softcap)
            if a.bias is not None:
                s = s + a.bias[..., cols]
            s = np.where(ok, s, -np.inf)
            new = np.maximum(m, s.max(axis=-1, keepdims=True))
            new = np.where(np.isneginf(new), 0, new)  # no key so far: -inf - -inf would be NaN
            alpha = np.where(np.isneginf(m), 0, np.exp(m - new))
            p = np.where(ok, np.exp(s - new), 0)
            l = l * alpha + p.sum(axis=-1, keepdims=True)
            acc = acc * alpha + base.weigh(p, a.v[:, :, cols], ok)
            m = new
        seen = a.ok.any(axis=-1, keepdims=True)
        out = np.where(seen, acc / np.where(l == 0, 1, l), 0)
        lse = np.where(seen, m + np.log(l), -np.inf)[..., 0]
    return {"output": out.astype(query.dtype), "logsumexp": lse}
