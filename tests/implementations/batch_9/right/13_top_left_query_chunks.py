"""Queries in chunks of five; only the keys that some query of the chunk may see are gathered. Top-left alone."""
import numpy as np

conventions = {"causal_alignment": "top_left"}


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, scale=None,
                                 softcap=None, window=None):
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
    causal_alignment = "top_left"
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
    P = 0 if past_key is None else past_key.shape[2]
    if past_key is not None:
        key = np.concatenate([past_key, key], axis=2)
        value = np.concatenate([past_value, value], axis=2)
    B, Hq, Sq, E = query.shape
    K, Ev = value.shape[2:]
    L = np.full(B, K) if key_lengths is None else np.asarray(key_lengths).astype(np.int64)
    N = np.full(B, Sq) if query_lengths is None else np.asarray(query_lengths).astype(np.int64)
    p = np.arange(Sq)[None, :, None] + (P if causal_alignment == "top_left" else (L - N)[:, None, None])
    p = np.broadcast_to(p, (B, Sq, 1))[:, None]
    j = np.arange(K)
    ok = np.broadcast_to(j < L[:, None, None, None], (B, 1, Sq, K))
    if is_causal:
        ok = ok & (j <= p)
    if window is not None and window[0] is not None:
        ok = ok & (j >= p - window[0])
    if window is not None and window[1] is not None:
        ok = ok & (j <= p + window[1])
    if mask is not None:
        ok = ok & (mask if mask.dtype == bool else mask != -np.inf)
    ok = np.broadcast_to(ok, (B, Hq, Sq, K))
    t = np.float64 if query.dtype == np.float64 else np.float32
    if mask is not None:
        mask = np.broadcast_to(mask, (B, Hq, Sq, K))
    out = np.zeros((B, Hq, Sq, Ev), query.dtype)
    group = Hq // key.shape[1]
    factor = t(1 / np.sqrt(E) if scale is None else scale)
    for b, h, start in np.ndindex(B, Hq, -(-Sq // 5)):
        rows = slice(5 * start, 5 * start + 5)
        see = ok[b, h, rows]
        columns = np.flatnonzero(see.any(axis=0))
        if not len(columns):
            continue
        see = see[:, columns]
        s = query[b, h, rows].astype(t) @ key[b, h // group][columns].astype(t).T * factor
        if softcap:
            s = np.tanh(s / t(softcap)) * t(softcap)
        if alibi_slopes is not None:
            s = s - t(alibi_slopes[h]) * np.abs(p[b, 0, rows] - columns).astype(t)
        if mask is not None and mask.dtype != bool:
            s = s + mask[b, h, rows][:, columns].astype(t)
        s = np.where(see, s, t(-np.inf))
        top = s.max(axis=1, keepdims=True)
        if sinks is not None:
            top = np.maximum(top, t(sinks[h]))
        top = np.where(np.isneginf(top), t(0), top)
        e = np.where(see, np.exp(s - top), t(0))
        z = e.sum(axis=1, keepdims=True)
        if sinks is not None:
            z = z + np.exp(t(sinks[h]) - top)
        v = value[b, h // group][columns].astype(t)
        if np.isfinite(v).all():
            o = e @ v
        else:
            o = np.where(see[:, :, None], e[:, :, None] * v, t(0)).sum(axis=1)
        out[b, h, rows] = o / np.where(z == 0, t(1), z)
    return out

dtypes = ("float64", "float32")
