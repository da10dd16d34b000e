"""The past and the new tokens attend apart (a shared prefix), and are merged."""
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
    B, HQ, SQ, E = query.shape
    HK, SK, EV = value.shape[1:]
    dt, group = query.dtype, HQ // HK
    P = 0 if past_key is None else past_key.shape[2]
    factor = 1 / math.sqrt(E) if scale is None else scale
    left, right = (None, None) if window is None else window
    n_keys = np.full(B, P + SK) if key_lengths is None else np.asarray(key_lengths).astype(np.int64)
    n_queries = np.full(B, SQ) if query_lengths is None else np.asarray(query_lengths).astype(np.int64)
    first = np.full(B, P) if causal_alignment == "top_left" else n_keys - n_queries
    pos = (first[:, None] + np.arange(SQ))[:, None, :, None]

    def part(k, v, j0, mask_part):
        j = j0 + np.arange(k.shape[2])
        k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
        s = np.matmul(query, k.transpose(0, 1, 3, 2)) * factor
        if softcap:
            s = softcap * np.tanh(s / softcap)
        if alibi_slopes is not None:
            s = s - alibi_slopes.reshape(-1, 1, 1) * np.abs(pos - j).astype(dt)
        keep = np.broadcast_to(j < n_keys[:, None, None, None], s.shape)
        if is_causal:
            keep = keep & (j <= pos)
        if left is not None:
            keep = keep & (j >= pos - left)
        if right is not None:
            keep = keep & (j <= pos + right)
        if mask_part is not None:
            if mask_part.dtype == bool:
                keep = keep & mask_part
            else:
                s = s + mask_part
                keep = keep & (mask_part != -np.inf)
        s = np.where(keep, s, dt.type(-np.inf))
        m = s.max(axis=-1, keepdims=True, initial=-np.inf)
        e = np.exp(s - np.where(m == -np.inf, dt.type(0), m))
        return m, e.sum(axis=-1, keepdims=True), e @ v

    states = [part(key, value, P, None if mask is None else mask[..., P:])]
    present_key, present_value = key.copy(), value.copy()
    if P:
        states.insert(0, part(past_key, past_value, 0, None if mask is None else mask[..., :P]))
        present_key = np.concatenate([past_key, key], axis=2)
        present_value = np.concatenate([past_value, value], axis=2)
    if sinks is not None:
        zero = np.zeros((B, HQ, SQ, 1), dt)
        states.append((zero + sinks[:, None, None], zero + 1, np.zeros((B, HQ, SQ, EV), dt)))
    m, l, o = states[0]
    for m2, l2, o2 in states[1:]:
        top = np.maximum(m, m2)
        safe = np.where(top == -np.inf, dt.type(0), top)
        a, c = np.exp(m - safe), np.exp(m2 - safe)
        m, l, o = top, l * a + l2 * c, o * a + o2 * c
    out = o / np.where(l == 0, dt.type(1), l)
    lse = (np.log(l) + m)[..., 0]
    return {"output": out, "logsumexp": lse, "present_key": present_key, "present_value": present_value}
