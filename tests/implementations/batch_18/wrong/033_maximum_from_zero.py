import numpy as np

layout = "paged_csr_heads_first"


def scaled_dot_product_attention(query, key_pool, value_pool, page_starts, page_indices, last_page_length,
                                 query_lengths=None, mask=None, sinks=None,
                                 alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None):
    """One page at a time, with a running maximum and a running sum for every query."""
    q, key_pool, value_pool = np.asarray(query), np.asarray(key_pool), np.asarray(value_pool)
    if q.ndim != 4 or key_pool.ndim != 4 or value_pool.ndim != 4 or q.shape[3] != key_pool.shape[3]:
        raise ValueError("shapes")
    size, kv = key_pool.shape[2], key_pool.shape[1]
    if value_pool.shape[:3] != key_pool.shape[:3] or q.shape[1] % max(kv, 1):
        raise ValueError("heads")
    batch, queries = q.shape[0], q.shape[2]
    if query_lengths is not None:
        counts = np.asarray(query_lengths)
        if counts.shape != (batch,) or (counts < 0).any() or (counts > queries).any():
            raise ValueError("query_lengths")
    if len(page_starts) != batch + 1 or len(last_page_length) != batch:
        raise ValueError("batch")
    kind = q.dtype
    t = np.promote_types(kind, np.float32).type
    hq, group = q.shape[1], q.shape[1] // max(kv, 1)
    output = np.zeros(q.shape[:3] + value_pool.shape[3:], kind)
    logsumexp = np.full(q.shape[:3], -np.inf, t)
    factor = t(q.shape[3] ** -0.5 if scale is None else scale)
    table = None
    if mask is not None:
        table = np.asarray(mask).reshape((1,) * (4 - np.ndim(mask)) + np.shape(mask))[0, :, 0]
    for b in range(q.shape[0]):
        pages = [int(x) for x in page_indices[int(page_starts[b]):int(page_starts[b + 1])]]
        length = (len(pages) - 1) * size + int(last_page_length[b]) if pages else 0
        n = q.shape[2] if query_lengths is None else int(query_lengths[b])
        p = np.arange(n) + (length - n if causal_alignment == "bottom_right" else 0)
        for h in range(hq):
            g = h // group
            top = np.zeros(n, t)
            total = np.zeros(n, t)
            acc = np.zeros((n, value_pool.shape[3]), t)
            for number, page in enumerate(pages):
                filled = min(size, length - number * size)
                k = key_pool[page, g][:filled].astype(t)
                v = value_pool[page, g][:filled].astype(t)
                j = number * size + np.arange(filled)
                with np.errstate(all="ignore"):
                    x = (q[b, h, :n].astype(t) @ k.T) * factor
                    if softcap:
                        x = np.tanh(x / t(softcap)) * t(softcap)
                    if alibi_slopes is not None:
                        x = x - t(alibi_slopes[h]) * np.abs(p[:, None] - j).astype(t)
                    see = np.ones((n, filled), bool)
                    if is_causal:
                        see &= j <= p[:, None]
                    if window is not None and window[0] is not None:
                        see &= j >= p[:, None] - window[0]
                    if window is not None and window[1] is not None:
                        see &= j <= p[:, None] + window[1]
                    if table is not None:
                        line = table[h % len(table), j]
                        see &= line if line.dtype == bool else line != -np.inf
                        if line.dtype != bool:
                            x = x + line.astype(t)
                    x = np.where(see, x, -np.inf)
                    risen = np.maximum(top, x.max(axis=1))
                    base = np.where(risen == -np.inf, 0, risen)
                    w = np.where(see, np.exp(x - base[:, None]), 0)
                    fade = np.where(top == -np.inf, 0, np.exp(top - base))
                    for i in range(n):
                        acc[i] = acc[i] * fade[i] + w[i, see[i]] @ v[see[i]]
                    total = total * fade + w.sum(axis=1)
                    top = risen
            with np.errstate(all="ignore"):
                if sinks is not None:
                    sink = t(sinks[h])
                    risen = np.maximum(top, sink)
                    fade = np.where(top == -np.inf, 0, np.exp(top - risen))
                    acc, total, top = acc * fade[:, None], total * fade + np.exp(sink - risen), risen
                output[b, h, :n] = acc / np.where(total == 0, 1, total)[:, None]
                logsumexp[b, h, :n] = np.where(total == 0, -np.inf, top + np.log(total))
    return {"output": output, "logsumexp": logsumexp}
