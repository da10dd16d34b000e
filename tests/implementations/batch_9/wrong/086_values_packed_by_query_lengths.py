import math

import numpy as np


def pack(x, lengths):
    nothing = np.zeros((0, x.shape[1], x.shape[3]), x.dtype)
    return np.concatenate([nothing, *(x[b, :, :n].transpose(1, 0, 2) for b, n in enumerate(lengths))], axis=0)


def attend(q, k, v, offset, seq_mask, sinks, slopes, is_causal, window, scale, softcap):
    """q (N, Hq, E), k (L, Hkv, E), v (L, Hkv, Ev) of one sequence."""
    t = q.dtype.type
    heads = q.shape[1]
    ratio = heads // k.shape[1]
    position = np.arange(len(q))[:, None] + offset
    column = np.arange(len(k))[None, :]
    ok = np.ones((len(q), len(k)), bool)
    if is_causal:
        ok &= column <= position
    if window is not None:
        lo, hi = window
        if lo is not None:
            ok &= column >= position - lo
        if hi is not None:
            ok &= column <= position + hi
    result = np.zeros((len(q), heads, v.shape[2]), q.dtype)
    for h in range(heads):
        s = q[:, h] @ k[:, h // ratio].T * t(scale)
        if softcap:
            s = np.tanh(s / t(softcap)) * t(softcap)
        if slopes is not None:
            s -= t(slopes[h]) * np.abs(position - column).astype(s.dtype)
        see = ok
        if seq_mask is not None:
            m = seq_mask[h]
            if m.dtype == bool:
                see = ok & m
            else:
                see = ok & (m != -np.inf)
                s = s + m.astype(s.dtype)
        s[~see] = -np.inf
        top = s.max(axis=1, keepdims=True, initial=-np.inf)
        if sinks is not None:
            top = np.maximum(top, t(sinks[h]))
        top[np.isneginf(top)] = 0
        e = np.exp(s - top)
        e[~see] = 0
        z = e.sum(axis=1, keepdims=True)
        if sinks is not None:
            z = z + np.exp(t(sinks[h]) - top)
        z[z == 0] = 1
        e /= z
        vh = v[:, h // ratio]
        if np.isfinite(vh).all():
            result[:, h] = e @ vh
        else:
            result[:, h] = np.where(see[:, :, None], e[:, :, None] * vh[None], t(0)).sum(axis=1)
    return result


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    for lengths, most in ((key_lengths, key.shape[-2]), (query_lengths, query.shape[-2])):
        if lengths is not None and (
            lengths.shape != query.shape[:1] or any(not 0 <= length <= most for length in lengths)
        ):
            raise ValueError("lengths do not fit")
    if past_key is not None and key.ndim == value.ndim == 4 and (
        past_key.shape[:2] != key.shape[:2]
        or past_key.shape[3] != key.shape[3]
        or past_value.shape != (*past_key.shape[:3], value.shape[3])
    ):
        raise ValueError("past does not fit")
    if {query.ndim, key.ndim, value.ndim} != {4}:
        raise ValueError("rank")
    b_, hq_, sq_, e_ = query.shape
    hk_, sk_ = key.shape[1:3]
    if key.shape[0] != b_ or key.shape[3] != e_:
        raise ValueError("key")
    if value.shape[:3] != (b_, hk_, sk_):
        raise ValueError("value")
    if hq_ % hk_ != 0:
        raise ValueError("groups")
    if mask is not None:
        all_keys = sk_ if past_key is None else sk_ + past_key.shape[2]
        if mask.ndim not in (2, 3, 4) or mask.shape[-1] != all_keys:
            raise ValueError("mask")
        for have, need in zip(reversed(mask.shape), (all_keys, sq_, hq_, b_)):
            if have != need and have != 1:
                raise ValueError("mask")
    t = np.float64 if query.dtype == np.float64 else np.float32
    P = 0
    if past_key is not None:
        P = past_key.shape[2]
        key = np.concatenate((past_key, key), axis=2)
        value = np.concatenate((past_value, value), axis=2)
    B, Hq, Sq, E = query.shape
    Sk = key.shape[2]
    scale = 1 / math.sqrt(E) if scale is None else scale
    ql = [Sq] * B if query_lengths is None else [int(n) for n in query_lengths]
    kl = [Sk] * B if key_lengths is None else [int(n) for n in key_lengths]
    cu_q = np.concatenate([[0], np.cumsum(ql)])
    cu_k = np.concatenate([[0], np.cumsum(kl)])
    cu_v = cu_q if query_lengths is not None and Sq == Sk else cu_k
    qp, kp, vp = (pack(x.astype(t), n) for x, n in ((query, ql), (key, kl), (value, kl)))
    vp = np.concatenate([vp, np.zeros((Sk * B,) + vp.shape[1:], t)])
    if mask is not None:
        mask = np.broadcast_to(mask, (B, Hq, Sq, Sk))
    out = np.zeros((B, Hq, Sq, value.shape[3]), query.dtype)
    for b in range(B):
        offset = P if causal_alignment == "top_left" else kl[b] - ql[b]
        seq_mask = None if mask is None else mask[b, :, :ql[b], :kl[b]]
        rows = attend(qp[cu_q[b]:cu_q[b + 1]], kp[cu_k[b]:cu_k[b + 1]], vp[cu_v[b]:cu_v[b] + kl[b]], offset, seq_mask,
                      sinks, alibi_slopes, is_causal, window, scale, softcap)
        out[b, :, :ql[b]] = rows.transpose(1, 0, 2)
    return out

dtypes = ("float64", "float32")
