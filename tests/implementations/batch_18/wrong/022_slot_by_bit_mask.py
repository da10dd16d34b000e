import numpy as np

layout = "paged:page_size=3"


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None, sinks=None,
                                 alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None):
    """Gathers the keys and values of a sequence from its pages, then attends to them."""
    q, kp, vp = np.asarray(query), np.asarray(key_pool), np.asarray(value_pool)
    if q.ndim != 4 or kp.ndim != 4 or vp.ndim != 4 or q.shape[3] != kp.shape[3]:
        raise ValueError("shapes")
    size = kp.shape[1]
    if kp.shape[:3] != vp.shape[:3] or q.shape[1] % max(kp.shape[2], 1):
        raise ValueError("heads")
    batch, queries = q.shape[0], q.shape[2]
    if query_lengths is not None:
        counts = np.asarray(query_lengths)
        if counts.shape != (batch,) or (counts < 0).any() or (counts > queries).any():
            raise ValueError("query_lengths")
    block_table, key_lengths = np.asarray(block_table), np.asarray(key_lengths)
    if key_lengths.shape != (batch,) or block_table.ndim != 2 or block_table.shape[0] != batch:
        raise ValueError("batch")
    if (key_lengths < 0).any() or (key_lengths > block_table.shape[1] * size).any():
        raise ValueError("key_lengths")
    group = q.shape[1] // max(kp.shape[2], 1)
    kind = q.dtype
    t = np.float64 if kind == np.float64 else np.float32
    factor = t(1 / np.sqrt(q.shape[3])) if scale is None else t(scale)
    output = np.zeros(q.shape[:3] + vp.shape[3:], kind)
    logsumexp = np.full(q.shape[:3], -np.inf, t)
    for b in range(q.shape[0]):
        length = int(key_lengths[b])
        pages = [int(x) for x in block_table[b][:-(-length // size)]]
        n = q.shape[2] if query_lengths is None else int(query_lengths[b])
        where = np.asarray(pages, dtype=np.int64)[np.arange(length) // size]
        slot = np.arange(length) & (size - 1)
        k, v = kp[where, slot].astype(t), vp[where, slot].astype(t)
        first = length - n if causal_alignment == "bottom_right" else 0
        for h in range(q.shape[1]):
            for i in range(n):
                p = first + i
                j = np.arange(length)
                lo = 0 if window is None or window[0] is None else p - window[0]
                hi = length if window is None or window[1] is None else p + window[1]
                if is_causal:
                    hi = min(hi, p)
                see = (j >= lo) & (j <= hi)
                with np.errstate(all="ignore"):
                    x = (k[:, h // group] @ q[b, h, i].astype(t)) * factor
                    if softcap:
                        x = t(softcap) * np.tanh(x / t(softcap))
                    if alibi_slopes is not None:
                        x = x - t(alibi_slopes[h]) * np.abs(p - j).astype(t)
                    if mask is not None:
                        m = np.asarray(mask)
                        m = m.reshape((1,) * (4 - m.ndim) + m.shape)[0, :, 0]
                        m = m[h % len(m), :length]
                        see = see & (m if m.dtype == bool else m != -np.inf)
                        if m.dtype != bool:
                            x = x + m.astype(t)
                    x = x[see]
                    if sinks is not None:
                        x = np.concatenate([x, [t(sinks[h])]]).astype(t)
                    if not len(x) or x.max() == -np.inf:
                        continue
                    top = x.max()
                    w = np.exp(x - top)
                    total = w.sum()
                    output[b, h, i] = (w[:see.sum()] / total) @ v[see, h // group]
                    logsumexp[b, h, i] = np.log(total) + top
    return {"output": output, "logsumexp": logsumexp}
