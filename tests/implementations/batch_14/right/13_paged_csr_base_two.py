"""Exponentials to the base 2 with all scales folded into the query; NaN from excluded slots goes where it goes."""
import numpy as np

layout = "paged_csr"
conventions = {"logsumexp_base": "2", "empty_logsumexp": "plus_infinity", "masked_nonfinite": "propagates"}
LOG2E = 1 / np.log(2)


def scaled_dot_product_attention(query, key_pool, value_pool, page_starts, page_indices, last_page_length,
                                 query_lengths=None, mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    if query.ndim != 4 or key_pool.ndim != 4 or key_pool.shape[:3] != value_pool.shape[:3]:
        raise ValueError("shapes")
    batch, hq, sq, e = query.shape
    pages, size, hkv, _ = key_pool.shape
    if key_pool.shape[3] != e or hq % max(hkv, 1) or len(page_starts) != batch + 1:
        raise ValueError("shapes")
    dtype = query.dtype.type
    group = hq // max(hkv, 1)
    rows_k, rows_v = key_pool.reshape(pages * size, hkv, e), value_pool.reshape(pages * size, hkv, value_pool.shape[3])
    out = np.zeros((batch, hq, sq, value_pool.shape[3]), dtype)
    lse = np.full((batch, hq, sq), np.inf, dtype)
    factor = dtype((1 / np.sqrt(e) if scale is None else scale) * (1 if softcap else LOG2E))
    with np.errstate(all="ignore"):
        for b in range(batch):
            mine = np.asarray(page_indices[int(page_starts[b]):int(page_starts[b + 1])])
            slots = (mine[:, None].astype(np.int64) * size + np.arange(size)).ravel()
            if len(mine):
                slots = slots[:len(slots) - size + int(last_page_length[b])]
            length = len(slots)
            n = sq if query_lengths is None else int(query_lengths[b])
            j = np.arange(length)
            p = np.arange(n)[:, None] + (length - n) * (causal_alignment == "bottom_right")
            bias = np.zeros((1, n, length), dtype)
            if is_causal:
                bias = np.where(j > p, dtype(-np.inf), bias)
            for side, far in zip(window or (), (p - j, j - p)):
                if side is not None:
                    bias = np.where(far > side, dtype(-np.inf), bias)
            if mask is not None:
                part = np.asarray(mask)[..., :length]
                part = part.reshape((-1, 1, length)) if length else np.zeros((1, 1, 0), bool)
                bias = np.where(part, bias, dtype(-np.inf)) if part.dtype == bool else bias + part * dtype(LOG2E)
            if alibi_slopes is not None:
                bias = bias - (np.asarray(alibi_slopes, dtype) * dtype(LOG2E))[:, None, None] * np.abs(p - j)
            bias = np.broadcast_to(bias, (hq, n, length))
            for g in range(hkv):
                heads = slice(g * group, (g + 1) * group)
                q = (query[b, heads, :n] * factor).reshape(group * n, e)
                x = (q @ rows_k[slots, g].T).reshape(group, n, length)
                if softcap:
                    x = np.tanh(x / dtype(softcap)) * dtype(softcap * LOG2E)
                x = np.where(np.isneginf(bias[heads]), -np.inf, x + bias[heads])
                sink = np.full(group, -np.inf) if sinks is None else np.asarray(sinks, dtype)[heads] * dtype(LOG2E)
                x = np.concatenate([np.broadcast_to(sink[:, None, None], (group, n, 1)), x], axis=-1).astype(dtype)
                top = x.max(-1, keepdims=True)
                top = np.where(top == -np.inf, 0, top)
                w = np.exp2(x - top)
                total = w.sum(-1)
                o = w[..., 1:] @ rows_v[slots, g]
                out[b, heads, :n] = np.where(total == 0, 0, 1 / np.where(total == 0, 1, total))[..., None] * o
                l = top[..., 0] + np.log2(total)
                lse[b, heads, :n] = np.where(np.isneginf(l), np.inf, l)
    return out, lse
