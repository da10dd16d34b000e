"""Keys in splits, each with its own softmax; results are merged by their logsumexp."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
from base import check

conventions = {"masked_nonfinite": "propagates"}
np.seterr(all="ignore")
SPLIT = 8


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
          causal_alignment)
    P = 0
    if past_key is not None:
        P = past_key.shape[2]
        key, value = np.concatenate([past_key, key], axis=2), np.concatenate([past_value, value], axis=2)
    B, HQ, SQ, E = query.shape
    HK, T, EV = value.shape[1:]
    group = HQ // HK
    dt = query.dtype
    factor = 1 / math.sqrt(E) if scale is None else scale
    left, right = (None, None) if window is None else window
    n_keys = np.full(B, T) if key_lengths is None else np.asarray(key_lengths).astype(np.int64)
    n_queries = np.full(B, SQ) if query_lengths is None else np.asarray(query_lengths).astype(np.int64)
    first = np.full(B, P) if causal_alignment == "top_left" else n_keys - n_queries
    pos = (first[:, None] + np.arange(SQ))[:, None, :, None]
    full_key, full_value = np.repeat(key, group, axis=1), np.repeat(value, group, axis=1)

    def attend(c0, c1):
        cols = np.arange(c0, c1)
        s = query @ full_key[:, :, c0:c1].swapaxes(-1, -2) * factor
        if softcap:
            s = softcap * np.tanh(s / softcap)
        if alibi_slopes is not None:
            s = s - alibi_slopes[:, None, None] * np.abs(pos - cols).astype(dt)
        ok = np.broadcast_to(cols < n_keys[:, None, None, None], s.shape)
        if is_causal:
            ok = ok & (cols <= pos)
        if left is not None:
            ok = ok & (cols >= pos - left)
        if right is not None:
            ok = ok & (cols <= pos + right)
        if mask is not None:
            part = mask[..., c0:c1]
            if part.dtype == bool:
                ok = ok & part
            else:
                s = s + part
                ok = ok & (part != -np.inf)
        s = np.where(ok, s, dt.type(-np.inf))
        top = s.max(axis=-1)
        safe = np.where(top == -np.inf, dt.type(0), top)
        e = np.exp(s - safe[..., None])
        total = e.sum(axis=-1)
        out = e @ full_value[:, :, c0:c1] / np.where(total == 0, dt.type(1), total)[..., None]
        return out, np.where((total == 0) & (c1 - c0 < T), dt.type(0), np.log(total) + safe)

    parts = [attend(c0, min(c0 + SPLIT, T)) for c0 in range(0, T, SPLIT)]
    lses = [part[1] for part in parts]
    if sinks is not None:
        lses.append(np.broadcast_to(sinks[:, None], (B, HQ, SQ)))
    top = np.full((B, HQ, SQ), -np.inf, dt)
    for part in lses:
        top = np.maximum(top, part)
    safe = np.where(top == -np.inf, dt.type(0), top)
    total = np.zeros((B, HQ, SQ), dt)
    for part in lses:
        total = total + np.exp(part - safe)
    share = np.where(total == 0, dt.type(1), total)
    out = np.zeros((B, HQ, SQ, EV), dt)
    for o, part in parts:
        out = out + o * (np.exp(part - safe) / share)[..., None]
    lse = np.log(total) + safe
    return {"output": out, "logsumexp": lse}
