"""Several paths: one for a single query (decode), one where nothing is excluded, one for the rest."""
import math
import numpy as np


def _softmax_rows(s, sink):
    top = s.max(axis=-1, keepdims=True, initial=-np.inf)
    if sink is not None:
        top = np.maximum(top, sink)
    top = np.where(top == -np.inf, 0, top).astype(s.dtype)
    e = np.exp(s - top)
    z = e.sum(axis=-1, keepdims=True)
    if sink is not None:
        z = z + np.exp(sink - top)
    with np.errstate(divide="ignore"):
        return e / np.where(z == 0, 1, z), (top + np.log(z))[..., 0]


def _decode(q, k, v, bias, keep, cap, sinks, slopes, pos):
    """One query for each sequence: q (B, Hq, E); a vector by matrix product for each head."""
    B, Hq, E = q.shape
    group = Hq // k.shape[1]
    out = np.empty((B, Hq, v.shape[3]), q.dtype)
    lse = np.empty((B, Hq), q.dtype)
    for b in range(B):
        for h in range(Hq):
            s = k[b, h // group] @ q[b, h]
            if cap:
                s = cap * np.tanh(s / cap)
            if slopes is not None:
                s = s - slopes[h] * np.abs(pos[b] - np.arange(len(s))).astype(q.dtype)
            if bias is not None:
                s = s + bias[b, h]
            s = np.where(keep[b, h], s, q.dtype.type(-np.inf))
            w, z = _softmax_rows(s[None], None if sinks is None else sinks[h])
            out[b, h] = w[0] @ v[b, h // group]
            lse[b, h] = z[0]
    return out, lse


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
    if query.ndim != 4 or key.ndim != 4 or value.ndim != 4:
        raise ValueError("rank")
    B, Hq, Sq, E = query.shape
    _, Hkv, Sk, Ek = key.shape
    Ev = value.shape[3]
    if E != Ek or E == 0 or key.shape[0] != B or value.shape[:3] != key.shape[:3] or Hkv == 0 or Hq % Hkv:
        raise ValueError("shapes of query, key and value do not fit")
    if (past_key is None) != (past_value is None):
        raise ValueError("past_key without past_value")
    P = 0 if past_key is None else past_key.shape[2]
    T = P + Sk
    if mask is not None:
        if not 2 <= mask.ndim <= 4 or mask.shape[-1] != T:
            raise ValueError("mask")
        np.broadcast_shapes(mask.shape, (B, Hq, Sq, T))
        if any(m not in (1, n) for m, n in zip(mask.shape[::-1], (T, Sq, Hq, B))):
            raise ValueError("mask")
    dtype = query.dtype
    q = query * dtype.type(1 / math.sqrt(E) if scale is None else scale)
    k = key if not P else np.concatenate([past_key, key], axis=2)
    v = value if not P else np.concatenate([past_value, value], axis=2)
    cap = dtype.type(softcap) if softcap else None
    length = np.full(B, T) if key_lengths is None else key_lengths.astype(np.int64)
    count = np.full(B, Sq) if query_lengths is None else query_lengths.astype(np.int64)
    first = np.full(B, P) if causal_alignment == "top_left" else length - count
    pos = first[:, None] + np.arange(Sq)
    plain = not is_causal and window is None and mask is None and key_lengths is None
    bias = None
    keep = np.ones((B, Hq, Sq, T), bool)
    if not plain:
        j = np.arange(T)
        keep &= (j < length[:, None])[:, None, None, :]
        d = (j - pos[..., None])[:, None]
        if is_causal:
            keep &= d[..., :1024] <= 0 if T <= 1024 else np.concatenate([d[..., :1024] <= 0, np.ones_like(d[..., 1024:], bool)], axis=-1)
        if window is not None and window[0] is not None:
            keep &= d >= -window[0]
        if window is not None and window[1] is not None:
            keep &= d <= window[1]
        if mask is not None and mask.dtype == np.bool_:
            keep &= mask
        elif mask is not None:
            bias = np.broadcast_to(mask, (B, Hq, Sq, T))
            keep &= bias != -np.inf
    if Sq == 1:
        o, z = _decode(q[:, :, 0], k, v, None if bias is None else bias[:, :, 0], keep[:, :, 0], cap, sinks, alibi_slopes,
                       pos[:, 0])
        return o[:, :, None]
    if Hq != Hkv:
        wide_k, wide_v = np.repeat(k, Hq // Hkv, axis=1), np.repeat(v, Hq // Hkv, axis=1)
    else:
        wide_k, wide_v = k, v
    s = q @ wide_k.swapaxes(2, 3)
    if cap:
        s = cap * np.tanh(s / cap)
    if alibi_slopes is not None:
        s = s - alibi_slopes[None, :, None, None] * np.abs(pos[:, None, :, None] - np.arange(T)).astype(dtype)
    if not plain:
        if bias is not None:
            s = s + bias
        s = np.where(keep, s, dtype.type(-np.inf))
    w, z = _softmax_rows(s, None if sinks is None else sinks[None, :, None, None])
    return w @ wide_v


conventions = {"masked_nonfinite": "propagates"}

dtypes = ("float64", "float32")
