import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

layout = "paged_heads_first"


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None,
                                 mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    """For each query a running maximum, denominator and sum, page by page."""
    base.refuse(query.ndim != 4 or key_pool.ndim != 4 or value_pool.ndim != 4, "rank")
    base.refuse(key_pool.shape[:3] != value_pool.shape[:3] or key_pool.shape[3] != query.shape[3], "pools")
    T = query.dtype.type
    key_pool, value_pool = key_pool.transpose(0, 2, 1, 3), value_pool.transpose(0, 2, 1, 3)
    batch, hq, sq, e = query.shape
    size, hkv = key_pool.shape[1], key_pool.shape[2]
    base.refuse(hq % max(hkv, 1) != 0 or len(key_lengths) != batch, "heads or batch")
    group = hq // max(hkv, 1)
    factor = T(1 / np.sqrt(e) if scale is None else scale)
    left, right = window if window is not None else (None, None)
    out = np.zeros((batch, hq, sq, value_pool.shape[3]), T)
    lse = np.full((batch, hq, sq), -np.inf, T)
    mask4 = None if mask is None else np.asarray(mask).reshape((1,) * (4 - np.ndim(mask)) + np.shape(mask))
    with np.errstate(all="ignore"):
        for b in range(batch):
            length = int(key_lengths[b])
            pages = block_table[b, :(length + size - 1) // size]
            n = sq if query_lengths is None else int(query_lengths[b])
            shift = length - n if causal_alignment == "bottom_right" else 0
            for h in range(hq):
                for i in range(n):
                    p = i + shift
                    m, total, acc = T(-np.inf), T(0), np.zeros(value_pool.shape[3], T)
                    for number, page in enumerate(pages):
                        j = np.arange(number * size, min(number * size + size, length))
                        ok = np.ones(len(j), bool)
                        if is_causal:
                            ok &= j <= p
                        if left is not None:
                            ok &= j >= p - left
                        if right is not None:
                            ok &= j <= p + right
                        mj = None
                        if mask4 is not None:
                            mj = mask4[0, h if mask4.shape[1] > 1 else 0, 0, j]
                            ok &= mj if mj.dtype == bool else ~np.isneginf(mj)
                        slot = j - number * size
                        if not ok.any():
                            continue
                        page = int(page)
                        s = key_pool[page, slot[ok], h // group] @ query[b, h, i] * factor
                        if softcap:
                            s = softcap * np.tanh(s / softcap)
                        if alibi_slopes is not None:
                            s = s - T(alibi_slopes[h]) * np.abs((length - 1) - j[ok]).astype(T)
                        if mj is not None and mj.dtype != bool:
                            s = s + mj[ok]
                        new = np.maximum(m, s.max())
                        w, keep = np.exp(s - new), np.exp(m - new)
                        total = total * keep + w.sum()
                        acc = acc * keep + w @ value_pool[page, slot[ok], h // group]
                        m = new
                    if sinks is not None:
                        sink = T(sinks[h])
                        new = np.maximum(m, sink)
                        total = total * np.exp(m - new) + np.exp(sink - new)
                        acc, m = acc * np.exp(m - new), new
                    if total != 0:
                        out[b, h, i], lse[b, h, i] = acc / total, m + np.log(total)
    return {"output": out, "logsumexp": lse}
