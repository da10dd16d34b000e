import numpy as np

layout = "paged_csr_heads_first"
conventions = {"empty_logsumexp": "plus_infinity"}


def scaled_dot_product_attention(query, key_pool, value_pool, page_starts, page_indices, last_page_length,
                                 query_lengths=None, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    """Pages in the order of their numbers in the pool, each merged into what came before by a sigmoid."""
    query, key_pool, value_pool = np.asarray(query), np.asarray(key_pool), np.asarray(value_pool)
    if query.ndim != 4 or key_pool.ndim != 4 or value_pool.ndim != 4 or query.shape[3] != key_pool.shape[3]:
        raise ValueError("shapes")
    kv, size = key_pool.shape[1:3]
    batch, hq, sq, width = query.shape
    if value_pool.shape[:3] != key_pool.shape[:3] or hq % max(kv, 1):
        raise ValueError("heads")
    if len(page_starts) != batch + 1 or len(last_page_length) != batch:
        raise ValueError("batch")
    counts = np.full(batch, sq) if query_lengths is None else np.asarray(query_lengths)
    if counts.shape != (batch,) or (counts < 0).any() or (counts > sq).any():
        raise ValueError("query_lengths")
    kind = query.dtype
    t = np.float64 if kind == np.float64 else np.float32
    factor = t(1 / np.sqrt(width)) if scale is None else t(scale)
    output, logs = np.zeros((batch, hq, sq, value_pool.shape[3]), kind), np.full((batch, hq, sq), np.inf, t)
    if mask is not None:
        mask = np.asarray(mask)
        mask = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)[0, :, 0]
    for b in range(batch):
        pages = np.asarray(page_indices)[int(page_starts[b]):int(page_starts[b + 1])]
        length = (len(pages) - 1) * size + int(last_page_length[b]) if len(pages) else 0
        for h in range(hq):
            g = h // (hq // kv)
            for i in range(int(counts[b])):
                p = i if causal_alignment == "top_left" else i + length - int(counts[b])
                out, lse = np.zeros(value_pool.shape[3], t), t(-np.inf)
                if sinks is not None:
                    lse = t(sinks[h])
                for place in np.argsort(pages, kind="stable"):
                    j = np.arange(place * size, min((place + 1) * size, length))
                    see = np.ones(len(j), bool)
                    if is_causal:
                        see &= j <= p
                    if window is not None and window[0] is not None:
                        see &= j >= p - window[0]
                    if window is not None and window[1] is not None:
                        see &= j <= p + window[1]
                    if mask is not None:
                        m = mask[h % len(mask), j]
                        see &= m if m.dtype == bool else m != -np.inf
                    if not see.any():
                        continue
                    with np.errstate(all="ignore"):
                        x = (key_pool[pages[place], g, :len(j)][see].astype(t) @ query[b, h, i].astype(t)) * factor
                        if softcap:
                            x = t(softcap) * np.tanh(x / t(softcap))
                        if alibi_slopes is not None:
                            x = x - t(alibi_slopes[h]) * np.abs(p - j[see]).astype(t)
                        if mask is not None and mask.dtype != bool:
                            x = x + m[see].astype(t)
                        top = x.max()
                        w = np.exp(x - top)
                        mine = np.log(w.sum()) + top
                        v = (w / w.sum()) @ value_pool[pages[place], g, :len(j)][see].astype(t)
                        if lse == -np.inf:
                            out, lse = v, mine
                        else:
                            ratio = np.exp(-np.abs(mine - lse))
                            near, far = 1 / (1 + ratio), ratio / (1 + ratio)
                            a, c = (near, far) if not mine > lse else (far, near)
                            out, lse = out * a + v * c, np.maximum(lse, mine) + np.log1p(ratio)
                output[b, h, i] = out
                logs[b, h, i] = np.inf if lse == -np.inf else lse
    return {"output": output, "logsumexp": logs}
