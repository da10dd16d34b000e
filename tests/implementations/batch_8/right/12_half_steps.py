"""A chain of library calls: every step stores its result in the dtype of the query, sums inside a step are float32."""
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
try:
    import ml_dtypes  # noqa: F401
except ImportError:
    dtypes = dtypes[:3]


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


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    past = _check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, softcap, causal_alignment)
    kind = query.dtype
    real = kind if kind.itemsize >= 4 else np.dtype(np.float32)

    def store(x):
        return x.astype(kind).astype(real)

    if past_key is not None:
        key, value = np.concatenate([past_key, key], axis=2), np.concatenate([past_value, value], axis=2)
    B, Hq, Sq, E = query.shape
    T = key.shape[2]
    rep = Hq // key.shape[1]
    q, k, v = query.astype(real), np.repeat(key, rep, 1).astype(real), np.repeat(value, rep, 1).astype(real)
    L = np.full(B, T) if key_lengths is None else np.array(key_lengths)
    N = np.full(B, Sq) if query_lengths is None else np.array(query_lengths)
    start = np.full(B, past) if causal_alignment == "top_left" else L - N
    p = (start[:, None] + np.arange(Sq))[:, None, :, None]
    j = np.arange(T)
    keep = (j < L[:, None, None, None]) & np.ones((B, Hq, Sq, T), bool)
    if is_causal:
        keep &= j <= p
    if window is not None:
        keep &= True if window[0] is None else j >= p - window[0]
        keep &= True if window[1] is None else j <= p + window[1]
    with np.errstate(all="ignore"):
        s = q @ np.swapaxes(k, 2, 3) * real.type(1 / np.sqrt(E) if scale is None else scale)   # matmul with its factor
        s = store(s)
        if softcap:
            s = store(real.type(softcap) * np.tanh(s / real.type(softcap)))
        if alibi_slopes is not None:
            s = store(s - alibi_slopes.astype(real)[:, None, None] * np.abs(p - j).astype(real))
        if mask is not None:
            if mask.dtype == bool:
                keep &= mask
            else:
                s = store(s + mask.astype(real))
                keep &= ~np.isneginf(mask.astype(real))
        s = np.where(keep, s, -np.inf).astype(real)
        top = s.max(axis=3, keepdims=True, initial=-np.inf)
        if sinks is not None:
            sink = sinks.astype(real)[None, :, None, None]
            top = np.maximum(top, sink)
        top = np.where(np.isneginf(top), real.type(0), top)
        e = np.exp(s - top)
        total = e.sum(axis=3, keepdims=True)
        if sinks is not None:
            total = total + np.exp(sink - top)
        w = store(e / np.where(total == 0, real.type(1), total))
        if np.isfinite(v).all():
            out = w @ v
        else:
            out = np.where(keep[..., None], w[..., None] * v[:, :, None], real.type(0)).sum(axis=3)
    return out.astype(kind)
