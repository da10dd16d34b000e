"""A paged cache: keys and values lie in pages of four tokens, found by a table."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
from base import check

conventions = {"masked_nonfinite": "propagates"}
np.seterr(all="ignore")
PAGE = 4


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
    pages = -(-T // PAGE)
    pool_k = np.zeros((B * pages + 1, PAGE, HK, E), dt)
    pool_v = np.zeros((B * pages + 1, PAGE, HK, EV), dt)
    table = (np.arange(B * pages).reshape(B, pages) * 1)[:, ::-1]
    for b in range(B):
        for j in range(T):
            pool_k[table[b, j // PAGE], j % PAGE] = key[b, :, j]
            pool_v[table[b, j // PAGE], j % PAGE] = value[b, :, j]
    if mask is not None:
        mask = np.broadcast_to(mask, (B, HQ, SQ, T))
    out = np.zeros((B, HQ, SQ, EV), dt)
    lse = np.full((B, HQ, SQ), -np.inf, dt)
    for b in range(B):
        n_keys = T if key_lengths is None else int(key_lengths[b])
        n_queries = SQ if query_lengths is None else int(query_lengths[b])
        pos = (np.arange(SQ) + (P if causal_alignment == "top_left" else n_keys - n_queries))[:, None]
        for h in range(HQ):
            blocks = []
            for page in range(-(-n_keys // PAGE)):
                count = min(PAGE, n_keys - page * PAGE)
                cols = page * PAGE + np.arange(count)
                cols = cols + (cols >= P) * (-P % PAGE)
                k = pool_k[table[b, page], :count, h // group]
                s = query[b, h] @ k.T * factor
                if softcap:
                    s = softcap * np.tanh(s / softcap)
                if alibi_slopes is not None:
                    s = s - alibi_slopes[h] * np.abs(pos - cols).astype(dt)
                ok = np.ones(s.shape, bool)
                if is_causal:
                    ok &= cols <= pos
                if left is not None:
                    ok &= cols >= pos - left
                if right is not None:
                    ok &= cols <= pos + right
                if mask is not None:
                    part = mask[b, h][:, page * PAGE + np.arange(count)]
                    if part.dtype == bool:
                        ok &= part
                    else:
                        s = s + part
                        ok &= part != -np.inf
                blocks.append(np.where(ok, s, dt.type(-np.inf)))
            top = np.full((SQ, 1), -np.inf if sinks is None else sinks[h], dt)
            for s in blocks:
                top = np.maximum(top, s.max(axis=1, keepdims=True))
            top = np.where(top == -np.inf, dt.type(0), top)
            total = np.zeros((SQ, 1), dt) if sinks is None else np.exp(sinks[h] - top)
            acc = np.zeros((SQ, EV), dt)
            for page, s in enumerate(blocks):
                e = np.exp(s - top)
                total = total + e.sum(axis=1, keepdims=True)
                acc = acc + e @ pool_v[table[b, page], :s.shape[1], h // group]
            out[b, h] = acc / np.where(total == 0, dt.type(1), total)
            lse[b, h] = (np.log(total) + top)[:, 0]
    return {"output": out, "logsumexp": lse}
