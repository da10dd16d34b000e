import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

layout = "paged"

def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None,
                                 mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    """The pages of a sequence are gathered whole; one softmax for each sequence over all its slots."""
    base.refuse(query.ndim != 4 or key_pool.ndim != 4 or value_pool.ndim != 4, "rank")
    base.refuse(key_pool.shape[:3] != value_pool.shape[:3] or key_pool.shape[-1] != query.shape[-1], "pools")
    dtype = query.dtype
    batch, hq, sq, e = query.shape
    size, hkv = key_pool.shape[1:3]
    base.refuse(hq % max(hkv, 1) != 0, "grouped")
    slopes = np.zeros(hq, dtype) if alibi_slopes is None else np.asarray(alibi_slopes, dtype)
    out = np.zeros((batch, hq, sq, value_pool.shape[3]), dtype)
    lse = np.full((batch, hq, sq), -np.inf, dtype)
    for b in range(batch):
        n = sq if query_lengths is None else int(query_lengths[b])
        length = int(key_lengths[b])
        pages = np.asarray(block_table)[b, :-(-length // size)]
        k = key_pool[pages].reshape(len(pages) * size, hkv, e) if len(pages) else np.zeros((0, hkv, e), dtype)
        v = value_pool[pages].reshape(len(pages) * size, hkv, value_pool.shape[3]) if len(pages) else np.zeros((0, hkv, value_pool.shape[3]), dtype)
        j, p = np.arange(len(k)), np.arange(n)[:, None] + (length - n if causal_alignment == "bottom_right" else 0)
        ok = np.broadcast_to(j < length, (n, len(k)))
        if is_causal:
            ok = ok & (j <= p)
        if window is not None:
            ok = ok & (j >= p - window[0]) if window[0] is not None else ok
            ok = ok & (j <= p + window[1]) if window[1] is not None else ok
        with np.errstate(all="ignore"):
            for h in range(hq):
                g = h // (hq // max(hkv, 1))
                s = query[b, h, :n] @ k[:, g].T * dtype.type(e ** -0.5 if scale is None else scale)
                if softcap:
                    s = softcap * np.tanh(s / softcap)
                if alibi_slopes is not None:
                    s = s - slopes[h] * np.abs(p - j)
                may = ok
                if mask is not None:
                    row = np.asarray(mask).reshape((mask.shape[-3] if mask.ndim > 2 else 1, mask.shape[-1]))
                    row = row[h if len(row) > 1 else 0][:length]
                    row = np.concatenate([row, np.zeros(len(k) - len(row), row.dtype)])
                    if row.dtype == bool:
                        may = may & row
                    else:
                        may, s = may & ~np.isneginf(row), s + row
                s = np.where(may, s, -np.inf)
                top = s.max(-1, keepdims=True, initial=-np.inf)
                if sinks is not None:
                    top = np.maximum(top, dtype.type(sinks[h]))
                top = np.where(np.isneginf(top), 0, top)
                w = np.where(may, np.exp(s - top), 0)
                total = w.sum(-1, keepdims=True)
                if sinks is not None:
                    total = total + np.exp(dtype.type(sinks[h]) - top)
                o = w @ v[:, g] / np.where(total == 0, 1, total)
                l = (top + np.log(total))[:, 0]
                out[b, h, :n], lse[b, h, :n] = o, l
    return {"output": out, "logsumexp": lse}
