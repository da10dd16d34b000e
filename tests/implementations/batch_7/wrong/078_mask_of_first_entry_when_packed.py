"""Packed sequences: tokens of all batch entries in one row, with cumulative lengths."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
from base import check

conventions = {"masked_nonfinite": "propagates"}
np.seterr(all="ignore")


def one(q, k, v, pos, factor, softcap, slope, sink, is_causal, left, right, mask):
    s = q @ k.T * factor
    if softcap:
        s = softcap * np.tanh(s / softcap)
    j = np.arange(len(k))
    if slope is not None:
        s = s - slope * np.abs(pos - j).astype(q.dtype)
    out = ~np.ones(s.shape, bool)
    if is_causal:
        out |= j > pos
    if left is not None:
        out |= pos - j > left
    if right is not None:
        out |= j - pos > right
    if mask is not None and mask.dtype == bool:
        out |= ~mask
    elif mask is not None:
        s = s + mask
        out |= mask == -np.inf
    s = np.where(out, q.dtype.type(-np.inf), s)
    top = s.max(axis=1, keepdims=True, initial=-np.inf)
    if sink is not None:
        top = np.maximum(top, sink)
    top = np.where(top == -np.inf, q.dtype.type(0), top)
    e = np.exp(s - top)
    total = e.sum(axis=1, keepdims=True)
    if sink is not None:
        total = total + np.exp(sink - top)
    return e @ v / np.where(total == 0, q.dtype.type(1), total), (np.log(total) + top)[:, 0]


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
    n_keys = [T] * B if key_lengths is None else [int(n) for n in key_lengths]
    n_queries = [SQ] * B if query_lengths is None else [int(n) for n in query_lengths]
    cu_q = np.cumsum([0] + n_queries)
    cu_k = np.cumsum([0] + n_keys)
    packed_q = np.concatenate([query[b, :, :n_queries[b]].swapaxes(0, 1) for b in range(B)] or [query])
    packed_k = np.concatenate([key[b, :, :n_keys[b]].swapaxes(0, 1) for b in range(B)] or [key])
    packed_v = np.concatenate([value[b, :, :n_keys[b]].swapaxes(0, 1) for b in range(B)] or [value])
    out = np.zeros((B, HQ, SQ, EV), dt)
    lse = np.full((B, HQ, SQ), -np.inf, dt)
    if mask is not None:
        mask = np.broadcast_to(mask, (B, HQ, SQ, T))
    for b in range(B):
        q, k, v = packed_q[cu_q[b]:cu_q[b + 1]], packed_k[cu_k[b]:cu_k[b + 1]], packed_v[cu_k[b]:cu_k[b + 1]]
        shift = P if causal_alignment == "top_left" else len(k) - len(q)
        pos = np.arange(len(q))[:, None] + shift
        for h in range(HQ):
            part = None if mask is None else mask[b if key_lengths is None else 0, h, :len(q), :len(k)]
            o, z = one(q[:, h], k[:, h // group], v[:, h // group], pos, factor, softcap,
                       None if alibi_slopes is None else alibi_slopes[h], None if sinks is None else sinks[h],
                       is_causal, left, right, part)
            out[b, h, :len(q)], lse[b, h, :len(q)] = o, z
    return {"output": out, "logsumexp": lse}
