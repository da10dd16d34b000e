"""Everything that excludes or biases is gathered in one additive bias; sinks are one more column."""
import math
import numpy as np


def _bias(shape, dtype, P, L, N, mask, slopes, is_causal, alignment, window):
    B, H, Sq, T = shape
    bias = np.zeros(shape, dtype)
    first = np.full(B, P) if alignment == "top_left" else L - N
    q_idx = first[:, None, None, None] + np.arange(Sq)[None, None, :, None]
    k_idx = np.arange(T)[None, None, None, :]
    relative = k_idx - q_idx
    if slopes is not None:
        bias = bias - slopes[None, :, None, None] * np.abs(relative).astype(dtype)
    if mask is not None:
        if mask.dtype == np.bool_:
            bias = np.where(mask, bias, -np.inf)
        else:
            bias = bias + mask
    if is_causal:
        bias = np.where(relative > 0, -np.inf, bias)
    if window is not None:
        before, after = window
        if before is not None:
            bias = np.where(relative < -before, -np.inf, bias)
        if after is not None:
            bias = np.where(relative > after, -np.inf, bias)
    bias = np.where(k_idx >= L[:, None, None, None], -np.inf, bias)
    return bias.astype(dtype)


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
        key, value = np.concatenate([past_key, key], -2), np.concatenate([past_value, value], -2)
    L = np.full(B, T) if key_lengths is None else np.asarray(key_lengths)
    N = np.full(B, Sq) if query_lengths is None else np.asarray(query_lengths)
    bias = _bias((B, Hq, Sq, T), dtype, P, L, N, mask, alibi_slopes, is_causal, causal_alignment, window)
    factor = dtype.type(E ** -0.5 if scale is None else scale)
    kv_of = np.arange(Hq) // (Hq // Hkv)
    logits = np.matmul(query * factor, key[:, kv_of].transpose(0, 1, 3, 2))
    if softcap:
        logits = np.tanh(logits / dtype.type(softcap)) * dtype.type(softcap)
    logits = np.where(np.isneginf(bias), -np.inf, logits + bias)
    if sinks is not None:
        column = np.broadcast_to(sinks[None, :, None, None], (B, Hq, Sq, 1))
        logits = np.concatenate([logits, column], axis=-1)
    top = np.max(logits, axis=-1, keepdims=True, initial=np.finfo(dtype).min)
    unnorm = np.exp(logits - top).astype(dtype)
    denom = unnorm.sum(-1, keepdims=True)
    probs = unnorm / np.where(denom == 0, 1, denom)
    if sinks is not None:
        probs = probs[..., :-1]
    return np.matmul(probs, value[:, kv_of]).astype(dtype)


conventions = {"masked_nonfinite": "propagates"}

dtypes = ("float64", "float32")
