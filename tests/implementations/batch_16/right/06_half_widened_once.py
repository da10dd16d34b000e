import math
import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
BF16 = np.dtype(ml_dtypes.bfloat16)

QUANTIZED = [np.dtype(x) for x in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.int8)]


def _check(ok, text):
    if not ok:
        raise ValueError(text)


def _fits(have, want):
    return len(have) <= len(want) and all(x in (1, y) for x, y in zip(have[::-1], want[::-1]))


def _checks(query, key, value, mask, past_key, past_value, key_lengths, query_lengths):
    _check(query.ndim == key.ndim == value.ndim == 4, "rank")
    B, Hq, Sq, E = query.shape
    Hkv, Sk = key.shape[1:3]
    _check(key.shape[0] == B and value.shape[0] == B, "batch")
    _check(key.shape[3] == E, "width")
    _check(value.shape[1:3] == (Hkv, Sk), "value")
    _check(Hq % Hkv == 0 if Hkv else Hq == 0, "heads")
    P = 0
    _check((past_key is None) == (past_value is None), "past")
    if past_key is not None:
        _check(past_key.ndim == past_value.ndim == 4, "rank")
        P = past_key.shape[2]
        _check(past_key.shape == (B, Hkv, P, E) and past_value.shape == (B, Hkv, P, value.shape[3]), "past")
    for n, most in ((key_lengths, Sk), (query_lengths, Sq)):
        if n is not None:
            _check(n.shape == (B,), "lengths")
            _check(not ((n < 0) | (n > most)).any(), "lengths")
    if mask is not None:
        _check(2 <= mask.ndim <= 4 and mask.shape[-1] == P + Sk and _fits(mask.shape, (B, Hq, Sq, P + Sk)), "mask")
    return B, Hq, Hkv, Sq, E, P, P + Sk


def _scale(s, B, H):
    s = np.asarray(s)
    _check(_fits(s.shape, (B, H)), "scale")
    return np.broadcast_to(s, (B, H))[:, :, None, None]


def _numbers(x, ct):
    return x.astype(ct)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    B, Hq, Hkv, Sq, E, P, K = _checks(query, key, value, mask, past_key, past_value, key_lengths, query_lengths)
    dt = (BF16 if output_dtype == "bfloat16" else np.dtype(output_dtype or "float32")) if query.dtype in QUANTIZED else query.dtype
    ct = np.dtype(np.float64) if dt == np.float64 else np.dtype(np.float32)
    group = Hq // Hkv if Hkv else 1
    if past_key is not None:
        key, value = np.concatenate([past_key, key], 2), np.concatenate([past_value, value], 2)
    q, k, v = _numbers(query, ct), _numbers(key, ct), _numbers(value, ct)
    if query_scale is not None:
        q = q * np.repeat(_scale(query_scale, B, Hkv), group, 1).astype(ct)
    if key_scale is not None:
        k = k * _scale(key_scale, B, Hkv).astype(ct)
    if value_scale is not None:
        v = v * _scale(value_scale, B, Hkv).astype(ct)
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    L = np.full(B, K) if key_lengths is None else key_lengths
    N = np.full(B, Sq) if query_lengths is None else query_lengths
    p = np.arange(Sq)[None] + (P if causal_alignment == "top_left" else (L - N)[:, None])
    p = np.broadcast_to(p, (B, Sq))[:, None, :, None]
    j = np.arange(K)
    see = np.broadcast_to(j < L.reshape(-1, 1, 1, 1), (B, Hq, Sq, K))
    if is_causal:
        see = see & (j <= p)
    if window is not None and window[0] is not None:
        see = see & (j >= p - window[0])
    if window is not None and window[1] is not None:
        see = see & (j <= p + window[1])
    with np.errstate(all="ignore"):
        s = np.einsum("bhqe,bhke->bhqk", q, k) * ct.type(1 / math.sqrt(E) if scale is None else scale)
        if softcap:
            s = ct.type(softcap) * np.tanh(s / ct.type(softcap))
        if alibi_slopes is not None:
            s = s - alibi_slopes.astype(ct)[:, None, None] * np.abs(p - j).astype(ct)
        if mask is not None and mask.dtype == bool:
            see = see & mask
        elif mask is not None:
            s, see = s + mask.astype(ct), see & (mask != -np.inf)
        s = np.where(see, s, -np.inf)
        top = s.max(-1, initial=-np.inf)
        if sinks is not None:
            top = np.maximum(top, sinks.astype(ct)[:, None])
        ref = np.where(top == -np.inf, 0, top)
        e = np.where(see, np.exp(s - ref[..., None]), 0).astype(ct)
        t = e.sum(-1)
        if sinks is not None:
            t = t + np.exp(sinks.astype(ct)[:, None] - ref)
        w = e / np.where(t == 0, 1, t)[..., None]
        lse = np.where(t == 0, -np.inf, top + np.log(t))
        out = np.zeros((B, Hq, Sq, v.shape[3]), ct)
        for at in np.ndindex(B, Hq, Sq):
            out[at] = w[at][see[at]] @ v[at[:2]][see[at]]
    return {"output": out.astype(dt), "logsumexp": lse.astype(ct)}
