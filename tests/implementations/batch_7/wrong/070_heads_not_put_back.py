"""Masks as numbers to add, and the sink as one more key in front, whose value is zero."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
from base import check

conventions = {"masked_nonfinite": "propagates"}
np.seterr(all="ignore")


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
    out, lses, shares = [], [], []
    for b in range(B):
        for h in range(HQ):
            s = query[b, h] @ key[b, h // group].T * factor
            if softcap:
                s = np.tanh(s / softcap) * softcap
            p, j = pos[b, 0], np.arange(T)
            if alibi_slopes is not None:
                s = s - alibi_slopes[h] * np.abs(p - j).astype(dt)
            bias = np.zeros(s.shape, dt)
            bias[:, int(n_keys[b]):] = -np.inf
            if is_causal:
                bias[np.broadcast_to(j > p, s.shape)] = -np.inf
            if left is not None:
                bias[np.broadcast_to(j < p - left, s.shape)] = -np.inf
            if right is not None:
                bias[np.broadcast_to(j > p + right, s.shape)] = -np.inf
            if mask is not None:
                extra = np.broadcast_to(mask, (B, HQ, SQ, T))[b, h]
                bias = bias + (np.where(extra, 0, -np.inf).astype(dt) if mask.dtype == bool else extra)
            s = np.where(bias == -np.inf, bias, s + bias)
            sink = np.full((SQ, 1), -np.inf if sinks is None else sinks[h], dt)
            s = np.concatenate([sink, s], axis=1)
            v = np.concatenate([np.zeros((1, EV), dt), value[b, h // group]])
            top = s.max(axis=1, keepdims=True)
            top = np.where(top == -np.inf, dt.type(0), top)
            e = np.exp(s - top)
            total = e.sum(axis=1, keepdims=True)
            w = e / np.where(total == 0, dt.type(1), total)
            out.append(w @ v)
            lses.append((np.log(total) + top)[:, 0])
            shares.append(w[:, 1:])
    out = np.array(out, dt).reshape(B, HQ, SQ, EV).swapaxes(1, 2).reshape(B, HQ, SQ, EV)
    lse = np.array(lses, dt).reshape(B, HQ, SQ)
    weights = np.array(shares, dt).reshape(B, HQ, SQ, T)
    return out
