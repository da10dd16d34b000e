"""Decode kernel: the query heads of a group and their tokens are folded into rows of one matrix."""
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
    if mask is not None:
        mask = np.broadcast_to(mask, (B, HQ, SQ, T))
    out = np.zeros((B, HQ, SQ, EV), dt)
    lse = np.zeros((B, HQ, SQ), dt)
    cols = np.arange(T)
    for b in range(B):
        n_keys = T if key_lengths is None else int(key_lengths[b])
        n_queries = SQ if query_lengths is None else int(query_lengths[b])
        shift = P if causal_alignment == "top_left" else n_keys - n_queries
        for g in range(HK):
            q = query[b, g * group:(g + 1) * group].reshape(group * SQ, E)
            row = np.arange(group * SQ)
            head, token = g * group + row // max(SQ, 1), row % max(SQ, 1)
            pos = (np.maximum(token, SQ - 1 if SQ < 4 else 0) + shift)[:, None]
            s = q @ key[b, g].T * factor
            if softcap:
                s = softcap * np.tanh(s / softcap)
            if alibi_slopes is not None:
                s = s - alibi_slopes[head][:, None] * np.abs(pos - cols).astype(dt)
            ok = np.broadcast_to(cols < n_keys, s.shape)
            if is_causal:
                ok = ok & (cols <= pos)
            if left is not None:
                ok = ok & (cols >= pos - left)
            if right is not None:
                ok = ok & (cols <= pos + right)
            if mask is not None:
                part = mask[b, head, token]
                if part.dtype == bool:
                    ok = ok & part
                else:
                    s = s + part
                    ok = ok & (part != -np.inf)
            s = np.where(ok, s, dt.type(-np.inf))
            top = s.max(axis=1, initial=-np.inf)
            if sinks is not None:
                top = np.maximum(top, sinks[head])
            top = np.where(top == -np.inf, dt.type(0), top)
            e = np.exp(s - top[:, None])
            total = e.sum(axis=1)
            if sinks is not None:
                total = total + np.exp(sinks[head] - top)
            o = e @ value[b, g] / np.where(total == 0, dt.type(1), total)[:, None]
            out[b, g * group:(g + 1) * group] = o.reshape(group, SQ, EV)
            lse[b, g * group:(g + 1) * group] = (np.log(total) + top).reshape(group, SQ)
    return {"output": out, "logsumexp": lse}
