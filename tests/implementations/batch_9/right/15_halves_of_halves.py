"""Keys are halved again and again; the halves' (maximum, sum, weighted values) are joined on the way back."""
import numpy as np


def join(a, b):
    top = np.maximum(a[0], b[0])
    ref = np.where(np.isneginf(top), top.dtype.type(0), top)
    f, g = np.exp(a[0] - ref), np.exp(b[0] - ref)
    return top, a[1] * f + b[1] * g, a[2] * f[..., None] + b[2] * g[..., None]


def reduce(s, ok, v):
    if s.shape[-1] > 3:
        middle = s.shape[-1] // 2
        return join(reduce(s[..., :middle], ok[..., :middle], v[..., :middle, :]),
                    reduce(s[..., middle:], ok[..., middle:], v[..., middle:, :]))
    t = s.dtype.type
    top = s.max(axis=-1, initial=-np.inf)
    e = np.where(ok, np.exp(s - np.where(np.isneginf(top), t(0), top)[..., None]), t(0))
    products = np.where(ok[..., None], e[..., None] * v[:, :, None], t(0))
    return top, e.sum(axis=-1), products.sum(axis=-2)


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
    k, v = (np.repeat(x.astype(t), Hq // x.shape[1], axis=1) for x in (key, value))
    s = np.einsum("bhke,bhqe->bhqk", k, query.astype(t)) * t(E ** -0.5 if scale is None else scale)
    if softcap:
        s = np.tanh(s / t(softcap)) * t(softcap)
    if alibi_slopes is not None:
        s = s - alibi_slopes.astype(t)[:, None, None] * np.abs(p - j).astype(t)
    if mask is not None and mask.dtype != bool:
        s = s + mask.astype(t)
    s = np.where(ok, s, t(-np.inf))
    top, total, acc = reduce(s, ok, v)
    if sinks is not None:
        sink = np.broadcast_to(sinks.astype(t)[:, None], top.shape)
        top, total, acc = join((top, total, acc), (sink, np.ones_like(top), np.zeros_like(acc)))
    ref = np.where(np.isneginf(top), t(0), top)
    out = acc / np.where(total == 0, t(1), total)[..., None]
    return {"output": out.astype(query.dtype), "logsumexp": (ref + np.log(total)).astype(query.dtype)}

dtypes = ("float64", "float32")
