"""Gathered first to a padded batch, then one dense attention; the softmax is a difference from the logsumexp."""
import numpy as np

layout = "paged_csr_heads_first"


def scaled_dot_product_attention(query, key_pool, value_pool, page_starts, page_indices, last_page_length,
                                 query_lengths=None, mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    if query.ndim != 4 or key_pool.ndim != 4 or value_pool.ndim != 4 or key_pool.shape[:3] != value_pool.shape[:3]:
        raise ValueError("shapes")
    batch, hq, sq, e = query.shape
    _, hkv, size, _ = key_pool.shape
    ev = value_pool.shape[3]
    if key_pool.shape[3] != e or hq % max(hkv, 1) or len(page_starts) != batch + 1:
        raise ValueError("shapes")
    dtype = query.dtype
    lengths = [(int(z) - int(a) - 1) * size + int(last_page_length[b]) if int(z) > int(a) else 0
               for b, (a, z) in enumerate(zip(page_starts[:-1], page_starts[1:]))]
    most = max(lengths, default=0)
    keys, values = np.zeros((batch, hkv, most, e), dtype), np.zeros((batch, hkv, most, ev), dtype)
    for b, length in enumerate(lengths):
        for j in range(length):
            page = int(page_indices[int(page_starts[b]) + j // size])
            keys[b, :, j], values[b, :, j] = key_pool[page, :, j % size], value_pool[page, :, j % size]
    length = np.asarray(lengths, np.int64).reshape(batch, 1, 1, 1)
    n = np.asarray([sq] * batch if query_lengths is None else query_lengths, np.int64).reshape(batch, 1, 1, 1)
    j = np.arange(most)
    p = np.arange(sq)[:, None] + (length - n if causal_alignment == "bottom_right" else np.zeros_like(n))
    ok = np.broadcast_to(j < length, (batch, 1, sq, most))
    if is_causal:
        ok = ok & (j <= p)
    if window is not None and window[0] is not None:
        ok = ok & (p - j <= window[0])
    if window is not None and window[1] is not None:
        ok = ok & (j - p <= window[1])
    grouped = query.reshape(batch, hkv, hq // max(hkv, 1), sq, e)
    with np.errstate(all="ignore"):
        x = np.einsum("bgrie,bgje->bgrij", grouped, keys).reshape(batch, hq, sq, most)
        x = x * dtype.type(e ** -0.5 if scale is None else scale)
        if softcap:
            x = softcap * np.tanh(x / softcap)
        if alibi_slopes is not None:
            x = x - np.asarray(alibi_slopes, dtype)[None, :, None, None] * np.abs(p - j)
        if mask is not None:
            part = np.asarray(mask)[..., :most]
            ok = ok & (part if part.dtype == bool else ~np.isneginf(part))
            x = x if part.dtype == bool else x + part
        ok = np.broadcast_to(ok, x.shape)
        x = np.where(ok, x, -np.inf)
        if sinks is not None:
            x = np.concatenate([x, np.broadcast_to(np.asarray(sinks, dtype)[None, :, None, None], x.shape[:3] + (1,))], -1)
        top = x.max(-1, keepdims=True, initial=-np.inf)
        top = np.where(np.isneginf(top), 0, top)
        total = np.exp(x - top).sum(-1, keepdims=True)
        lse = top + np.log(total)
        w = np.exp(x[..., :most] - top) / np.where(total == 0, 1, total)
        w = np.where(ok, w, 0).reshape(batch, hkv, hq // max(hkv, 1), sq, most)
        if np.isfinite(values).all():
            out = np.einsum("bgrij,bgjd->bgrid", w, values)
        else:
            may = ok.reshape(w.shape)[..., None]
            out = np.where(may, w[..., None] * values[:, :, None, None], 0).sum(-2)
    return {"output": out.reshape(batch, hq, sq, ev).astype(dtype), "logsumexp": lse[..., 0].astype(dtype)}
