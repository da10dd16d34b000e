"""Query heads of one key head are packed as rows of one tall matrix: row = i * group + r."""
import math
import numpy as np


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
    factor = dtype.type(1.0 / math.sqrt(E) if scale is None else scale)
    group = Hq // Hkv
    keys = key if past_key is None else np.concatenate([past_key, key], 2)
    values = value if past_value is None else np.concatenate([past_value, value], 2)
    rows = Sq * group
    tall = query.reshape(B, Hkv, group, Sq, E).transpose(0, 1, 3, 2, 4).reshape(B, Hkv, rows, E)
    row_query = np.arange(rows) // group
    row_head = np.arange(Hkv)[:, None] * group + np.arange(rows)[None, :] % group      # (Hkv, rows)
    L = np.full(B, T) if key_lengths is None else key_lengths
    N = np.full(B, Sq) if query_lengths is None else query_lengths
    first = np.full(B, P) if causal_alignment == "top_left" else L - N
    position = (first[:, None] + row_query)[:, None, :, None]                          # (B, 1, rows, 1)
    j = np.arange(T)
    s = np.einsum("bgre,bgke->bgrk", tall, keys) * factor
    scores = s
    if softcap:
        s = dtype.type(softcap) * np.tanh(s / dtype.type(softcap))
    if alibi_slopes is not None:
        s = s - alibi_slopes[row_head][None, :, :, None] * np.abs(position - j).astype(dtype)
    ok = np.broadcast_to(j < L[:, None, None, None], s.shape)
    if is_causal:
        ok = ok & (j <= position)
    if window is not None:
        if window[0] is not None:
            ok = ok & (position - j <= window[0])
        if window[1] is not None:
            ok = ok & (j - position <= window[1])
    if mask is not None:
        packed = np.broadcast_to(mask, (B, Hq, Sq, T))[:, row_head, row_query[None, :], :]
        if mask.dtype == np.bool_:
            ok = ok & packed
        else:
            s = s + packed
            ok = ok & (packed != -np.inf)
    s = np.where(ok, s, dtype.type(-np.inf))
    top = s.max(axis=-1, keepdims=True, initial=-np.inf)
    if sinks is not None:
        sink = sinks[row_head][None, :, :, None]
        top = np.maximum(top, sink)
    top = np.where(top == -np.inf, 0, top).astype(dtype)
    e = np.exp(s - top)
    total = e.sum(axis=-1, keepdims=True)
    if sinks is not None:
        total = total + np.exp(sink - top)
    w = e / np.where(total == 0, 1, total)
    o = np.einsum("bgrk,bgkv->bgrv", w, values)
    with np.errstate(divide="ignore"):
        lse = (np.log(np.where(total == 0, 1, total)) + top)[..., 0]

    def unpack(x):
        return np.ascontiguousarray(x.reshape(B, Hkv, Sq, group, x.shape[-1]).transpose(0, 1, 3, 2, 4)).reshape(B, Hq, Sq, x.shape[-1])

    return {"output": unpack(o), "weights": unpack(w), "logsumexp": unpack(lse[..., None])[..., 0], "scores": unpack(scores),
            "present_key": keys, "present_value": values}


conventions = {"masked_nonfinite": "propagates"}

dtypes = ("float64", "float32")
