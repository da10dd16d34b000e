"""Sequences of a batch are packed one behind the other without padding; each is attended by itself."""
import math
import numpy as np


def _one_sequence(q, k, v, first, factor, softcap, slopes, sinks, mask, left, right):
    """q (n, Hq, E), k (l, Hkv, E), v (l, Hkv, Ev); mask (Hq, n, l) or None."""
    n, Hq, _ = q.shape
    l, Hkv, _ = k.shape
    out = np.zeros((n, Hq, v.shape[2]), q.dtype)
    lse = np.full((n, Hq), -np.inf, q.dtype)
    step = Hq // Hkv
    for g in range(Hkv):
        for h in range(g * step, (g + 1) * step):
            s = q[:, h] @ k[:, g].T * factor
            if softcap:
                s = softcap * np.tanh(s / softcap)
            distance = (np.arange(n) + first)[:, None] - np.arange(l)
            if slopes is not None:
                s -= slopes[h] * np.abs(distance).astype(q.dtype)
            see = np.full((n, l), True)
            if left is not None:
                see &= distance <= left
            if right is not None:
                see &= -distance <= right
            if mask is not None and mask.dtype == np.bool_:
                see &= mask[h]
            elif mask is not None:
                s += mask[h]
                see &= mask[h] != -np.inf
            for i in range(n):
                idx = np.flatnonzero(see[i])
                row = s[i, idx]
                if sinks is not None:
                    row = np.append(row, sinks[h])
                if len(row) == 0:
                    continue
                m = row.max()
                e = np.exp(row - m)
                z = e.sum()
                out[i, h] = (e[:len(idx)] / z) @ v[idx, g]
                lse[i, h] = m + np.log(z)
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
    if past_key is not None:
        key = np.concatenate([past_key, key], axis=2)
        value = np.concatenate([past_value, value], axis=2)
    k_len = np.full(B, T) if key_lengths is None else np.asarray(key_lengths, np.int64)
    q_len = np.full(B, Sq) if query_lengths is None else np.asarray(query_lengths, np.int64)
    cu_q = np.concatenate([[0], np.cumsum(q_len)])
    cu_k = np.concatenate([[0], np.cumsum(k_len)])
    q_flat = np.concatenate([query[b].transpose(1, 0, 2)[:q_len[b]] for b in range(B)] or [np.zeros((0, Hq, E), dtype)])
    k_flat = np.concatenate([key[b].transpose(1, 0, 2)[:k_len[b]] for b in range(B)] or [np.zeros((0, Hkv, E), dtype)])
    v_flat = np.concatenate([value[b].transpose(1, 0, 2)[:k_len[b]] for b in range(B)] or [np.zeros((0, Hkv, Ev), dtype)])
    left, right = window if window is not None else (None, None)
    if is_causal:
        right = 0 if right is None else min(0, right)
    out = np.zeros((B, Hq, Sq, Ev), dtype)
    lse = np.full((B, Hq, Sq), -np.inf, dtype)
    factor = dtype.type(1 / math.sqrt(E) if scale is None else scale)
    cap = dtype.type(softcap) if softcap else None
    for b in range(B):
        q, k, v = q_flat[cu_q[b]:cu_q[b + 1]], k_flat[cu_k[b]:cu_k[b + 1]], v_flat[cu_k[b]:cu_k[b + 1]]
        first = P if causal_alignment == "top_left" else k_len[b] - q_len[b]
        own = None if mask is None else np.broadcast_to(mask, (B, Hq, Sq, T))[b, :, :q_len[b], :k_len[b]]
        o, z = _one_sequence(q, k, v, first, factor, cap, alibi_slopes, sinks, own, left, right)
        out[b, :, :q_len[b]] = o.transpose(1, 0, 2)
        lse[b, :, :q_len[b]] = z.T
    return {"output": out, "logsumexp": lse}

dtypes = ("float64", "float32")
