import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import check_sdpa

dtypes = ("float64", "float32")

def one_sequence(q, k, v, bias, first, window, is_causal, factor, softcap, slopes, sinks):
    """q (Hq, n, E), k (Hkv, m, E), v (Hkv, m, Ev): no padding anywhere."""
    Hq, n, _ = q.shape
    Hkv, m, _ = k.shape
    f = q.dtype.type
    h_of = np.arange(Hq) // (Hq // Hkv)
    s = np.matmul(q, k[h_of].transpose(0, 2, 1)) * factor
    if softcap:
        s = softcap * np.tanh(s / softcap)
    gap = np.arange(m)[None, :] - (first + np.arange(n))[:, None]
    if slopes is not None:
        s = s - slopes[:, None, None] * np.abs(gap).astype(f)
    ok = np.ones((Hq, n, m), bool)
    if bias is not None and bias.dtype == bool:
        ok &= bias
    elif bias is not None:
        s = s + bias
        ok &= ~np.isneginf(bias)
    if is_causal:
        ok &= gap <= 0
    if window is not None:
        if window[0] is not None:
            ok &= gap >= -window[0]
        if window[1] is not None:
            ok &= gap <= window[1]
    s = np.where(ok, s, f(-np.inf))
    top = s.max(-1, initial=-np.inf)
    if sinks is not None:
        top = np.maximum(top, sinks[:, None])
    top = np.where(np.isneginf(top), f(0), top)
    e = np.exp(s - top[..., None])
    d = e.sum(-1)
    if sinks is not None:
        d = d + np.exp(sinks[:, None] - top)
    w = e / np.where(d == 0, f(1), d)[..., None]
    vv = v[h_of]
    if np.isfinite(vv).all():
        return w @ vv, top + np.log(d)
    return np.where(ok[..., None], w[..., None] * vv[:, None], f(0)).sum(2), top + np.log(d)


@np.errstate(all="ignore")
def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    """Unpads the batch: each sequence by itself, only its tokens that count."""
    check_sdpa(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
               causal_alignment, softcap, window)
    B, Hq, Sq, E = query.shape
    Sk = key.shape[2]
    P = 0 if past_key is None else past_key.shape[2]
    T = P + Sk
    f = query.dtype.type
    factor = f(E ** -0.5 if scale is None else scale)
    cap = f(softcap) if softcap else None
    out = np.zeros((B, Hq, Sq, value.shape[3]), f)
    lse = np.zeros((B, Hq, Sq), f)
    if mask is not None:
        mask = np.broadcast_to(mask, (B, Hq, Sq, T))
    for b in range(B):
        m = T if key_lengths is None else int(key_lengths[b])
        n = Sq if query_lengths is None else int(query_lengths[b])
        k, v = key[b], value[b]
        if P:
            k, v = np.concatenate([past_key[b], k], 1), np.concatenate([past_value[b], v], 1)
        first = P if causal_alignment == "top_left" else (m if key_lengths is None else int(np.max(key_lengths))) - n
        o, l = one_sequence(query[b, :, :n], k[:, :m], v[:, :m], None if mask is None else mask[b, :, :n, :m], first,
                            window, is_causal, factor, cap, alibi_slopes, sinks)
        out[b, :, :n] = o
        lse[b, :, :n] = l
    return {"output": out, "logsumexp": lse}
