import math

import numpy as np

dtypes = ('float64', 'float32', 'float16', 'bfloat16')


class Call:
    """What a kernel needs to know, for rows at the positions `p` (B, rows) of the heads `h` (rows of heads)."""

    def __init__(self, B, Hq, Sq, K, past, key_lengths, query_lengths, alignment, is_causal, window):
        self.L = np.full(B, K) if key_lengths is None else np.asarray(key_lengths).astype(np.int64)
        self.N = np.full(B, Sq) if query_lengths is None else np.asarray(query_lengths).astype(np.int64)
        first = np.full(B, past) if alignment == "top_left" else self.L - self.N
        self.p = first[:, None] + np.arange(Sq)
        self.j = np.arange(K)
        self.is_causal = is_causal
        self.left, self.right = (None, None) if window is None else window

    def structure(self, p):
        """Truth values (B, rows, K) of what lengths, causality and window leave."""
        p = p[:, :, None]
        ok = np.broadcast_to(self.j < self.L[:, None, None], (len(self.L), p.shape[1], len(self.j)))
        if self.is_causal:
            ok = ok & (self.j <= p)
        if self.left is not None:
            ok = ok & (self.j >= p - self.left)
        if self.right is not None:
            ok = ok & (self.j <= p + self.right)
        return ok


def shape_logits(s, softcap, slopes, distance, mask, ok):
    t = s.dtype.type
    if softcap:
        s = t(softcap) * np.tanh(s / t(softcap))
    if slopes is not None:
        s = s - slopes.astype(t) * distance.astype(t)
    if mask is not None and mask.dtype != bool:
        s = s + mask.astype(t)
    if mask is not None:
        ok = ok & (mask if mask.dtype == bool else mask != -np.inf)
    return np.where(ok, s, t(-np.inf)), ok


def finish(s, ok, v, sink):
    t = s.dtype.type
    top = s.max(axis=-1, keepdims=True, initial=-np.inf)
    if sink is not None:
        top = np.maximum(top, sink.astype(t))
    top = np.where(top == -np.inf, t(0), top)
    e = np.where(ok, np.exp(s - top), t(0))
    z = e.sum(axis=-1, keepdims=True)
    if sink is not None:
        z = z + np.exp(sink.astype(t) - top)
    e = e / np.where(z == 0, t(1), z)
    if np.isfinite(v).all():
        return e @ v
    return np.where(ok[..., None], e[..., None] * v[..., None, :, :], t(0)).sum(axis=-2)


def bare(q, k, v, scale):
    s = q @ k.swapaxes(-1, -2) * scale
    return finish(s, np.ones(s.shape, bool), v, None)


def decode(q, k, v, scale, call, softcap, slopes, mask, sinks):
    s = (k * q).sum(axis=-1) * scale
    ok = call.structure(call.p)
    distance = np.abs(call.p[:, :, None] - call.j)
    slopes = None if slopes is None else slopes[:, None]
    row = None if mask is None else mask[:, :, 0]
    s, ok = shape_logits(s, softcap, slopes, distance, row, ok)
    sinks = None if sinks is None else sinks[:, None, None]
    return finish(s[:, :, None], ok[:, :, None], v, sinks)


def single_key_head(q, k, v, scale, call, softcap, slopes, mask, sinks):
    B, Hq, Sq, E = q.shape
    rows = q.reshape(B, Hq * Sq, E)
    s = rows @ k[:, 0].swapaxes(-1, -2) * scale
    p = np.tile(call.p, (1, Hq))
    ok = call.structure(p)
    distance = np.abs(p[:, :, None] - call.j)
    slopes = None if slopes is None else np.repeat(slopes, Sq)[:, None]
    sinks = None if sinks is None else np.repeat(sinks, Sq)[:, None]
    folded = None if mask is None else mask.reshape(B, Hq * Sq, -1)
    s, ok = shape_logits(s, softcap, slopes, distance, folded, ok)
    return finish(s, ok, v[:, 0], sinks).reshape(B, Hq, Sq, -1)


def general(q, k, v, scale, call, softcap, slopes, mask, sinks):
    s = q @ k.swapaxes(-1, -2) * scale
    ok = np.broadcast_to(call.structure(call.p)[:, None], s.shape)
    distance = np.abs(call.p[:, :, None] - call.j)[:, None]
    slopes = None if slopes is None else slopes[:, None, None]
    sinks = None if sinks is None else sinks[:, None, None]
    s, ok = shape_logits(s, softcap, slopes, distance, mask, ok)
    return finish(s, ok, v, sinks)


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
    past = 0 if past_key is None else past_key.shape[2]
    if past:
        key = np.concatenate([past_key, key], axis=2)
        value = np.concatenate([past_value, value], axis=2)
    B, Hq, Sq, E = query.shape
    Hkv, K = key.shape[1:3]
    scale = t(1 / math.sqrt(E) if scale is None else scale)
    call = Call(B, Hq, Sq, K, past, key_lengths, query_lengths, causal_alignment, is_causal, window)
    if mask is not None:
        mask = np.broadcast_to(mask, (B, Hq, Sq, K))
    q, k, v = query.astype(t), key.astype(t), value.astype(t)
    details = (softcap, alibi_slopes, mask, sinks)
    plain = all(x is None for x in details + (key_lengths, window)) and not is_causal
    if Hkv == 1 and Hq > 1:
        result = single_key_head(q, k, v, scale, call, *details)
    else:
        k, v = k.repeat(Hq // Hkv, axis=1), v.repeat(Hq // Hkv, axis=1)
        if plain and K > 0:
            result = bare(q, k, v, scale)
        elif Sq == 1:
            result = decode(q, k, v, scale, call, *details)
        else:
            result = general(q, k, v, scale, call, *details)
    return result
