import numpy as np

layout = "paged_csr_heads_first"
PAGES_PER_SPLIT = 2


def part(q, k, v, p, start, factor, softcap, slope, causal, window, line):
    """Attention to the keys of one split: normalised outputs and logarithms."""
    t = q.dtype.type
    out, lse = np.zeros((len(q), v.shape[1]), t), np.full(len(q), -np.inf, t)
    j = start + np.arange(len(k))
    for i in range(len(q)):
        see = np.ones(len(k), bool)
        if causal:
            see &= j <= p[i]
        if window is not None:
            see &= (j >= p[i] - window[0]) if window[0] is not None else True
            see &= (j <= p[i] + window[1]) if window[1] is not None else True
        x = (k @ q[i]) * factor
        if softcap:
            x = np.tanh(x / t(softcap)) * t(softcap)
        if slope is not None:
            x = x - t(slope) * np.abs(j - p[i]).astype(t)
        if line is not None:
            see &= line if line.dtype == bool else line != -np.inf
            x = x if line.dtype == bool else x + line.astype(t)
        x = x[see]
        if len(x) and x.max() != -np.inf:
            top = x.max()
            w = np.exp(x - top)
            out[i], lse[i] = (w / w.sum()) @ v[see], top + np.log(w.sum())
    return out, lse


def scaled_dot_product_attention(query, key_pool, value_pool, page_starts, page_indices, last_page_length,
                                 query_lengths=None, mask=None, sinks=None,
                                 alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None):
    """Keys are split, each split is attended to by itself, and a second stage merges what came out."""
    query, key_pool, value_pool = np.asarray(query), np.asarray(key_pool), np.asarray(value_pool)
    if query.ndim != 4 or key_pool.ndim != 4 or value_pool.ndim != 4 or query.shape[3] != key_pool.shape[3]:
        raise ValueError("shapes")
    size, kv = key_pool.shape[2], key_pool.shape[1]
    if value_pool.shape[:3] != key_pool.shape[:3] or query.shape[1] % max(kv, 1):
        raise ValueError("heads")
    batch, queries = query.shape[0], query.shape[2]
    if query_lengths is not None:
        counts = np.asarray(query_lengths)
        if counts.shape != (batch,) or (counts < 0).any() or (counts > queries).any():
            raise ValueError("query_lengths")
    if len(page_starts) != batch + 1 or len(last_page_length) != batch:
        raise ValueError("batch")
    kind = query.dtype
    t = np.dtype(np.float64 if kind == np.float64 else np.float32)
    batch, hq, sq, e = query.shape
    ev = value_pool.shape[3]
    factor = t.type(1 / np.sqrt(e)) if scale is None else t.type(scale)
    output = np.zeros((batch, hq, sq, ev), kind)
    logsumexp = np.full((batch, hq, sq), -np.inf, t)
    if mask is not None:
        mask = np.asarray(mask)
        mask = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)[0, :, 0]
    for b in range(batch):
        pages = [int(x) for x in page_indices[int(page_starts[b]):int(page_starts[b + 1])]]
        length = (len(pages) - 1) * size + int(last_page_length[b]) if pages else 0
        n = sq if query_lengths is None else int(query_lengths[b])
        p = np.arange(n) + (length - n if causal_alignment == "bottom_right" else 0)
        step = PAGES_PER_SPLIT * size
        splits = -(-length // step)
        for h in range(hq):
            partial = np.zeros((splits, n, ev), t)
            logs = np.full((splits, n), -np.inf, t)
            for s in range(splits):
                chunk = pages[s * PAGES_PER_SPLIT:(s + 1) * PAGES_PER_SPLIT]
                keys = np.concatenate([key_pool[x, h * kv // hq] for x in chunk])[:length - s * step].astype(t)
                values = np.concatenate([value_pool[x, h * kv // hq] for x in chunk])[:length - s * step].astype(t)
                line = None if mask is None else mask[h % len(mask), :len(keys)]
                with np.errstate(all="ignore"):
                    partial[s], logs[s] = part(query[b, h, :n].astype(t), keys, values, p, s * step, factor, softcap,
                                               None if alibi_slopes is None else alibi_slopes[h], is_causal, window, line)
            with np.errstate(all="ignore"):
                everything = logs if sinks is None else np.concatenate([logs, np.full((1, n), sinks[h], t)])
                top = everything.max(axis=0, initial=-np.inf)
                base = np.where(top == -np.inf, 0, top)
                total = np.exp(everything - base).sum(axis=0)
                for s in range(splits):
                    share = np.exp(logs[s] - base) / np.where(total == 0, 1, total)
                    output[b, h, :n] += np.where((logs[s] == -np.inf)[:, None], 0, share[:, None] * partial[s]).astype(kind)
                logsumexp[b, h, :n] = np.log(total) + base
    return {"output": output, "logsumexp": logsumexp}
