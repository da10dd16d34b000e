import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged_csr_heads_first"


def scaled_dot_product_attention(query, key_pool, value_pool, page_starts, page_indices, last_page_length,
                                 query_lengths=None, mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    rest = dict(sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal, causal_alignment=causal_alignment,
                scale=scale, softcap=softcap, window=window)
    """Pages are visited one by one where they lie, last page first; no sequence is ever put together."""
    query, k, v = base.pools(query, key_pool, value_pool, True)
    size, batch = k.shape[1], len(query)
    pages, lengths = base.list_pages(page_starts, page_indices, last_page_length, batch, size)
    N = base.lengths_of(query_lengths, batch, query.shape[2], "query_lengths")
    out = np.zeros(query.shape[:3] + (v.shape[3],), query.dtype)
    lse = np.full(query.shape[:3], -np.inf, np.float64 if query.dtype == np.float64 else np.float32)
    for b in range(batch):
        q, L = query[b:b + 1, :, :N[b]], int(lengths[b])
        whole = base.prepare(q, *(np.broadcast_to(array[:1, :1].swapaxes(1, 2)[:, :, :1] if len(array) else
                                                  np.zeros((1, array.shape[2], 1, array.shape[3]), array.dtype),
                                                  (1, array.shape[2], L, array.shape[3])) for array in (k, v)),
                             mask=base.columns(mask, L), **rest)
        state = base.nothing(whole)
        for n in reversed(range(len(pages[b]))):
            first, count = n * size, min(size, L - n * size)
            cols = slice(first, first + count)
            kk, vv = (base.heads(whole, pool[pages[b][n], :count].swapaxes(0, 1)[None].astype(whole.work)) for pool in (k, v))
            with np.errstate(all="ignore"):
                l = (whole.q * whole.work.type(1)) @ kk.swapaxes(-1, -2) * whole.work.type(whole.scale)
                if whole.softcap is not None:
                    l = np.tanh(l / whole.work.type(whole.softcap)) * whole.work.type(whole.softcap)
                if whole.slopes is not None:
                    away = np.abs(whole.p[:, :, None] - np.arange(L)[cols]).astype(whole.work)
                    l = l - whole.slopes[None, :, None, None] * away[:, None]
                if whole.mask is not None and whole.mask.dtype != bool:
                    l = l + whole.mask[..., cols].astype(whole.work)
            a = base.allowed_of(whole)[..., cols]
            l = base.excluded(l, a)
            state = base.joined(base.part(whole, l, a, 0, count, vv), state)
        if whole.sinks is not None:
            state = base.joined(state, base.sink_part(whole, state[0].shape))
        o, s = base.closed(state)
        out[b, :, :N[b]], lse[b, :, :N[b]] = base.rounded(whole, o)[0], s[0]
    return {"output": out, "logsumexp": lse}
