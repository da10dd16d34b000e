"""Half precision step by step: each step stores its result in the dtype of the query, sums are float32."""
import math
import numpy as np
import ml_dtypes

dtypes = ("float32", "float16", "bfloat16")


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
    f32 = np.float32

    def store(x):
        narrow = x.astype(dtype).astype(f32)
        return np.where(np.isinf(narrow), x, narrow).astype(f32)      # what float16 cannot hold stays as it is

    if past_key is not None:
        key = np.concatenate([past_key, key], axis=2)
        value = np.concatenate([past_value, value], axis=2)
    group = Hq // Hkv
    q = query.astype(f32)
    k, v = np.repeat(key.astype(f32), group, 1), np.repeat(value.astype(f32), group, 1)
    L = np.full(B, T) if key_lengths is None else key_lengths
    N = np.full(B, Sq) if query_lengths is None else query_lengths
    pos = (np.full(B, P) if causal_alignment == "top_left" else L - N)[:, None] + np.arange(Sq)
    d = pos[:, None, :, None] - np.arange(T)
    s = store((q @ k.swapaxes(2, 3)) * f32(1 / math.sqrt(E) if scale is None else scale))
    if softcap:
        s = store(f32(softcap) * np.tanh(s / f32(softcap)))
    if alibi_slopes is not None:
        s = store(s - alibi_slopes.astype(f32)[:, None, None] * np.abs(d).astype(f32))
    ok = np.broadcast_to((np.arange(T) < L[:, None])[:, None, None, :], s.shape)
    if is_causal:
        ok = ok & (d >= 0)
    if window is not None and window[0] is not None:
        ok = ok & (d <= window[0])
    if window is not None and window[1] is not None:
        ok = ok & (-d <= window[1])
    if mask is not None:
        if mask.dtype == np.bool_:
            ok = ok & mask
        else:
            m = mask.astype(f32)
            s = store(s + m)
            ok = ok & (m != -np.inf)
    s = np.where(ok, s, f32(-np.inf))
    top = s.max(-1, keepdims=True, initial=-np.inf)
    if sinks is not None:
        sink = sinks.astype(f32)[:, None, None]
        top = np.maximum(top, sink)
    top = np.where(top == -np.inf, 0, top).astype(f32)
    e = np.exp(s - top)
    total = e.sum(-1, keepdims=True)
    if sinks is not None:
        total = total + np.exp(sink - top)
    w = store(e / np.where(total == 0, 1, total))
    return {"output": (w @ v).astype(dtype), "weights": w.astype(dtype)}


conventions = {"masked_nonfinite": "propagates"}
