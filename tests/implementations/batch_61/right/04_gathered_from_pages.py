import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged_csr_heads_first"


def row(query, keys, values, positions, p, factor, softcap, slope, bias, sink, work):
    """One query, and the keys that it may attend to, the last one first."""
    x = (keys @ query) * factor
    if softcap:
        x = np.tanh(x / work(softcap)) * work(softcap)
    if slope is not None:
        x = x - slope * np.abs(positions - p).astype(work)
    if bias is not None:
        x = x + bias
    m = np.max(x, initial=-np.inf)
    if sink is not None:
        m = np.maximum(m, sink)
    if m == -np.inf:
        return np.zeros(values.shape[1], dtype=work), -np.inf
    e = np.exp(x - m)[::-1]
    total = e.sum() + (np.exp(sink - m) if sink is not None else work(0))
    return (e / total) @ values[::-1], np.log(total) + m


def scaled_dot_product_attention(query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths=None,
                                 mask=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    key_pool, value_pool, counts = base.check_paged(query, key_pool, value_pool, True, query_lengths)
    size, heads = key_pool.shape[1:3]
    starts, indices, last = base.check_list(query, page_starts, page_indices, last_page_length, size)
    B, Hq, Sq, E = query.shape
    work = base.work_of(query)
    base.refuse(sinks is not None and np.shape(sinks) != (Hq,), "sinks")
    base.refuse(alibi_slopes is not None and np.shape(alibi_slopes) != (Hq,), "alibi_slopes")
    factor = work(1 / np.sqrt(E) if scale is None else scale)
    output = np.zeros((B, Hq, Sq, value_pool.shape[3]), dtype=query.dtype)
    logsumexp = np.full((B, Hq, Sq), -np.inf, dtype=work)
    for b in range(B):
        pages = indices[starts[b]:starts[b + 1]]
        L = (len(pages) - 1) * size + int(last[b]) if len(pages) else 0
        N = int(counts[b])
        columns = None
        if mask is not None:
            base.refuse(mask.shape[-1] < L, "columns of the mask")
            columns = np.broadcast_to(mask, np.broadcast_shapes(mask.shape, (1, Hq, 1, 1)))[0, :, 0, :L]
        for i in range(N):
            p = i if causal_alignment == "top_left" else i + L - N
            low, high = 0, L
            if is_causal:
                high = min(high, p + 1)
            if window is not None:
                low = max(low, p - window[0]) if window[0] is not None else low
                high = min(high, p + window[1] + 1) if window[1] is not None else high
            j = np.arange(low, max(high, low))
            for h in range(Hq):
                mine, bias = j, None
                if columns is not None:
                    if columns.dtype == bool:
                        mine = j[columns[h, j]]
                    else:
                        numbers = columns[h].astype(work)
                        mine = j[numbers[j] != -np.inf]
                        bias = numbers[mine]
                g = h // (Hq // heads)
                page, slot = pages[mine // size], mine % size
                with np.errstate(all="ignore"):
                    output[b, h, i], logsumexp[b, h, i] = row(
                        query[b, h, i].astype(work), key_pool[page, slot, g].astype(work), value_pool[page, slot, g].astype(work),
                        mine, p, factor, softcap, None if alibi_slopes is None else np.asarray(alibi_slopes).astype(work)[h],
                        bias, None if sinks is None else np.asarray(sinks).astype(work)[h], work)
    return {"output": output, "logsumexp": logsumexp}
