"""Sequences without padding: queries, keys and values of a batch lie one after the other, with their starts."""
import numpy as np


def _check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, softcap, causal_alignment):
    """Refuse what does not fit; give the number of past tokens."""
    for name, array in (("query", query), ("key", key), ("value", value)):
        if array.ndim != 4:
            raise ValueError(f"{name} must have four axes")
    if not query.shape[0] == key.shape[0] == value.shape[0]:
        raise ValueError("batch sizes differ")
    if query.shape[3] != key.shape[3] or query.shape[3] == 0:
        raise ValueError("query and key differ in width")
    if key.shape[1] != value.shape[1] or key.shape[1] == 0 or query.shape[1] % key.shape[1]:
        raise ValueError("heads do not fit")
    if key.shape[2] != value.shape[2]:
        raise ValueError("key and value differ in length")
    if causal_alignment not in ("top_left", "bottom_right") or (softcap is not None and softcap < 0):
        raise ValueError("bad attribute")
    if (past_key is None) != (past_value is None):
        raise ValueError("past key and past value come together")
    past = 0
    if past_key is not None:
        past = past_key.shape[2]
        if key_lengths is not None or query_lengths is not None:
            raise ValueError("past and lengths do not come together")
        if past_key.shape != key.shape[:2] + (past, key.shape[3]):
            raise ValueError("past key does not fit")
        if past_value.shape != value.shape[:2] + (past, value.shape[3]):
            raise ValueError("past value does not fit")
    if mask is not None:
        full = (query.shape[0], query.shape[1], query.shape[2], past + key.shape[2])
        if not 2 <= mask.ndim <= 4 or mask.shape[-1] != full[-1]:
            raise ValueError("mask does not fit")
        if any(have not in (1, want) for have, want in zip(mask.shape[::-1], full[::-1])):
            raise ValueError("mask does not broadcast")
    for lengths, most in ((key_lengths, key.shape[2]), (query_lengths, query.shape[2])):
        if lengths is not None and (
            lengths.shape != query.shape[:1] or any(not 0 <= length <= most for length in lengths)
        ):
            raise ValueError("lengths do not fit")
    return past


def _pack(x, lengths):
    """(B, H, S, E) and B lengths to (sum of lengths, H, E) and B + 1 starts."""
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    rows = np.zeros((int(starts[-1]), x.shape[1], x.shape[3]), x.dtype)
    for b, n in enumerate(lengths):
        rows[starts[b]:starts[b + 1]] = x[b, :, :n].transpose(1, 0, 2)
    return rows, starts


def _one(q, k, v, bias, keep, sinks, scale, softcap):
    """q (n, H, E), k and v (l, H, E), bias and keep (H, n, l)."""
    s = np.einsum("ihe,jhe->hij", q, k) * q.dtype.type(scale)
    if softcap:
        s = np.tanh(s / q.dtype.type(softcap)) * q.dtype.type(softcap)
    s = np.where(keep, s + bias, -np.inf)
    peak = s.max(axis=2, keepdims=True, initial=-np.inf)
    if sinks is not None:
        peak = np.maximum(peak, sinks[:, None, None])
    peak = np.where(np.isneginf(peak), 0, peak)
    e = np.exp(s - peak)
    z = e.sum(axis=2, keepdims=True)
    if sinks is not None:
        z = z + np.exp(sinks[:, None, None] - peak)
    w = e / np.where(z == 0, 1, z)
    if np.isfinite(v).all():
        o = np.einsum("hij,jhe->ihe", w, v)
    else:
        o = np.where(keep[..., None], w[..., None] * v.transpose(1, 0, 2)[:, None], 0).sum(axis=2).transpose(1, 0, 2)
    return o, (np.log(z) + peak)[:, :, 0]


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    past = _check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, softcap, causal_alignment)
    if past_key is not None:
        key, value = np.concatenate([past_key, key], axis=2), np.concatenate([past_value, value], axis=2)
    B, Hq, Sq, E = query.shape
    Hkv, Sk, Ev = value.shape[1:]
    real = np.promote_types(query.dtype, np.float32)
    n_k = [Sk] * B if key_lengths is None else [int(n) for n in key_lengths]
    n_q = [Sq] * B if query_lengths is None else [int(n) for n in query_lengths]
    q, q_at = _pack(query.astype(real), n_q)
    k, k_at = _pack(key.astype(real), n_k)
    v, _ = _pack(value.astype(real), n_k)
    k, v = np.repeat(k, Hq // Hkv, axis=1), np.repeat(v, Hq // Hkv, axis=1)
    scale = E ** -0.5 if scale is None else scale
    sink = None if sinks is None else sinks.astype(real)

    out = np.zeros((B, Hq, Sq, Ev), query.dtype)
    lse = np.zeros((B, Hq, Sq), query.dtype)
    for b in range(B):
        n, l = n_q[b], n_k[b]
        i = np.arange(n) + (past if causal_alignment == "top_left" else l - n)
        ahead = np.arange(l)[None, :] - i[:, None]
        keep = np.ones((Hq, n, l), bool)
        bias = np.zeros((Hq, n, l), real)
        if is_causal:
            keep &= ahead <= 0
        if window is not None:
            before, after = window
            keep &= ahead >= -(before if before is not None else Sk + Sq + past)
            keep &= ahead <= (after if after is not None else Sk + Sq + past)
        if alibi_slopes is not None:
            bias = bias - alibi_slopes.astype(real)[:, None, None] * abs(ahead)
        if mask is not None:
            flat = np.broadcast_to(mask, mask.shape[:-2] + (Sq, Sk)).reshape(-1, Sq, Sk)
            own = np.stack([flat[(b * Hq + h) % len(flat)] for h in range(Hq)])[:, :n, :l]
            if mask.dtype == bool:
                keep &= own
            else:
                keep &= ~np.isneginf(own)
                bias = bias + own
        with np.errstate(all="ignore"):
            o, z = _one(q[q_at[b]:q_at[b + 1]], k[k_at[b]:k_at[b + 1]], v[k_at[b]:k_at[b + 1]], bias, keep, sink, scale, softcap)
        out[b, :, :n] = o.transpose(1, 0, 2)
        lse[b, :, :n] = z
    return out

dtypes = ("float64", "float32")
