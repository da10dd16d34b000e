import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

layout = "paged"


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None,
                                 mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    """The pool is walked page by page, as it lies; each page is attended by whoever has it and merged by sigmoids."""
    if query.ndim != 4 or key_pool.ndim != 4 or value_pool.ndim != 4 or key_pool.shape[:3] != value_pool.shape[:3]:
        raise ValueError("shapes")
    batch, hq, sq, e = query.shape
    count, size, hkv = key_pool.shape[:3]
    if key_pool.shape[3] != e or hq % max(hkv, 1) or len(key_lengths) != batch:
        raise ValueError("shapes")
    dtype = query.dtype
    owners = {}
    for b in range(batch):
        for number in range((int(key_lengths[b]) + size - 1) // size):
            owners.setdefault(int(block_table[b, number]), []).append((b, number))
    out = np.zeros((batch, hq, sq, value_pool.shape[3]), dtype)
    lse = np.full((batch, hq, sq), -np.inf, dtype)
    if sinks is not None:
        lse[:] = np.asarray(sinks, dtype)[None, :, None]
    counts = np.full(batch, sq) if query_lengths is None else np.asarray(query_lengths)
    with np.errstate(all="ignore"):
        for page in sorted(owners, reverse=True):
            for b, number in owners[page]:
                length, n = int(key_lengths[b]), int(counts[b])
                here = min(size, length - number * size)
                j = np.arange(number * size, number * size + here)
                p = np.arange(n)[:, None] + (length - n if causal_alignment == "bottom_right" else 0)
                k = np.repeat(key_pool[page, :here].swapaxes(0, 1), hq // max(hkv, 1), axis=0)
                v = np.repeat(value_pool[page, :here].swapaxes(0, 1), hq // max(hkv, 1), axis=0)
                s = np.einsum("hie,hje->hij", query[b, :, :n], k) * dtype.type(e ** -0.5 if scale is None else scale)
                if softcap:
                    s = softcap * np.tanh(s / softcap)
                if alibi_slopes is not None:
                    s = s - np.asarray(alibi_slopes, dtype)[:, None, None] * np.abs(p - j)
                ok = np.ones((hq, n, here), bool)
                if is_causal:
                    ok &= j <= p
                if window is not None and window[0] is not None:
                    ok &= j >= p - window[0]
                if window is not None and window[1] is not None:
                    ok &= j <= p + window[1]
                if mask is not None:
                    part = np.asarray(mask)[..., j]
                    part = part.reshape(part.shape[-3:])
                    if part.dtype == bool:
                        ok &= part
                    else:
                        ok &= ~np.isneginf(part)
                        s = s + part
                s = np.where(ok, s, -np.inf).astype(dtype)
                top = s.max(-1, keepdims=True)
                top = np.where(np.isneginf(top), 0, top)
                w = np.where(ok, np.exp(s - top), 0)
                total = w.sum(-1)
                o = np.where(ok[..., None], w[..., None] * v[:, None], 0).sum(2) / np.where(total == 0, 1, total)[..., None]
                l = top[..., 0] + np.log(total)
                a, c = lse[b, :, :n], out[b, :, :n]
                d = np.where(np.isneginf(l), -np.inf, l - a)
                share = np.where(d > 0, 1 / (1 + np.exp(-d)), np.exp(d) / (1 + np.exp(d)))[..., None]
                share = np.where(np.isneginf(a)[..., None] & ~np.isneginf(l)[..., None], np.where(np.isnan(l), np.nan, 1.0)[..., None], share)
                merged = np.where(share == 0, c, (1 - share) * c + share * o)
                merged = np.where(share == 1, np.where(np.isneginf(a)[..., None], o, merged), merged)
                out[b, :, :n] = merged
                lse[b, :, :n] = np.logaddexp(a, l)
    return {"output": out, "logsumexp": lse}
