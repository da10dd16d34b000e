"""Exclusion is an additive minus infinity; the sink is one more key whose value is zero."""
import numpy as np

conventions = {"masked_nonfinite": "propagates"}


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
    for x in (query, key, value):
        if x.ndim != 4:
            raise ValueError("query, key and value need four axes")
    if query.shape[3] != key.shape[3]:
        raise ValueError("query and key differ in width")
    if not query.shape[0] == key.shape[0] == value.shape[0]:
        raise ValueError("batch sizes differ")
    if key.shape[1] != value.shape[1] or query.shape[1] % key.shape[1]:
        raise ValueError("heads do not fit")
    if key.shape[2] != value.shape[2]:
        raise ValueError("key and value differ in tokens")
    if mask is not None:
        want = query.shape[:3] + (key.shape[2] + (0 if past_key is None else past_key.shape[2]),)
        if not 2 <= mask.ndim <= 4 or mask.shape[-1] != want[-1]:
            raise ValueError("mask does not fit")
        np.broadcast_to(mask, want)
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
    q = query.astype(t)
    k, v = (np.repeat(x.astype(t), Hq // x.shape[1], axis=1) for x in (key, value))
    s = np.einsum("bhqe,bhke->bhqk", q, k) * t(E ** -0.5 if scale is None else scale)
    if softcap:
        s = np.tanh(s / t(softcap)) * t(softcap)
    if alibi_slopes is not None:
        s = s - alibi_slopes.astype(t)[:, None, None] * np.abs(p - j).astype(t)
    if mask is not None and mask.dtype != bool:
        s = s + mask.astype(t)
    s = s + np.where(ok, t(0), t(-np.inf))
    if sinks is not None:
        extra = np.broadcast_to(sinks.astype(t)[None, :, None, None], (B, Hq, Sq, 1))
        s = np.concatenate([s, extra], axis=-1)
        v = np.concatenate([v, np.zeros((B, Hq, 1, Ev), t)], axis=2)
    top = s.max(axis=-1, keepdims=True, initial=-np.inf)
    e = np.exp(s - np.where(np.isneginf(top), t(0), top))
    total = e.sum(axis=-1, keepdims=True)
    w = e / np.where(total == 0, t(1), total)
    return {"output": (w @ v).astype(query.dtype), "weights": w[..., :K].astype(query.dtype)}

dtypes = ("float64", "float32")
