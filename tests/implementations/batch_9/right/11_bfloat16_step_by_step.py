"""Half precision as a chain of library calls: every step stores its result in bfloat16, sums are carried in float32."""
import numpy as np

dtypes = ("bfloat16",)


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
    t = np.float32
    store = lambda x: x.astype(query.dtype).astype(t)
    k, v = (np.repeat(x.astype(t), Hq // x.shape[1], axis=1) for x in (key, value))
    s = store((query.astype(t) @ k.swapaxes(-1, -2)) * t(E ** -0.5 if scale is None else scale))
    if softcap:
        s = store(t(softcap) * np.tanh(s / t(softcap)))
    if alibi_slopes is not None:
        s = store(s - alibi_slopes.astype(t)[:, None, None] * np.abs(p - j).astype(t))
    if mask is not None and mask.dtype != bool:
        s = store(s + mask.astype(t))
    s = np.where(ok, s, t(-np.inf))
    top = s.max(axis=-1, keepdims=True, initial=-np.inf)
    if sinks is not None:
        sink = sinks.astype(t)[:, None, None]
        top = np.maximum(top, sink)
    top = np.where(np.isneginf(top), t(0), top)
    e = np.where(ok, np.exp(s - top), t(0))
    z = e.sum(axis=-1, keepdims=True)
    if sinks is not None:
        z = z + np.exp(sink - top)
    w = store(e / np.where(z == 0, t(1), z))
    if np.isfinite(v).all():
        o = w @ v
    else:
        o = np.where(ok[..., None], w[..., None] * v[:, :, None], t(0)).sum(axis=-2)
    return o.astype(query.dtype)
