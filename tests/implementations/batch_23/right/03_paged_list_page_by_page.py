import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np


layout = "paged_csr_heads_first"


def scaled_dot_product_attention(
    query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths=None, mask=None, sinks=None,
    alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    B, Hq, Sq, E = query.shape
    Hkv, size, Ev = value_pool.shape[1:]
    acc = base.acc_of(query.dtype)
    output = np.zeros((B, Hq, Sq, Ev), query.dtype)
    lse = np.full((B, Hq, Sq), -np.inf, acc)
    for b in range(B):
        pages = [int(n) for n in page_indices[int(page_starts[b]) : int(page_starts[b + 1])]]
        keys = [key_pool[n] for n in pages]
        values = [value_pool[n] for n in pages]
        if pages:
            keys[-1], values[-1] = keys[-1][:, : int(last_page_length[b])], values[-1][:, : int(last_page_length[b])]
        k = np.concatenate(keys, axis=1) if pages else np.zeros((Hkv, 0, E), key_pool.dtype)
        v = np.concatenate(values, axis=1) if pages else np.zeros((Hkv, 0, Ev), value_pool.dtype)
        p = base.setup(query[b : b + 1], k[None], v[None], mask=None if mask is None else mask[..., : k.shape[1]],
                       query_lengths=None if query_lengths is None else np.asarray(query_lengths)[b : b + 1],
                       sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal, causal_alignment=causal_alignment,
                       scale=scale, softcap=softcap, window=window)
        with np.errstate(all="ignore"):
            for h in range(Hq):
                g = h // p.group
                m = np.full(Sq, -np.inf if sinks is None else p.sinks[h], acc)
                total = np.full(Sq, 0 if sinks is None else 1, acc)
                o = np.zeros((Sq, Ev), acc)
                for j in range(0, p.Sk, size):
                    cols = slice(j, min(j + size, p.Sk))
                    x = base.logits_of(p, p.q[0, h] @ p.k[0, g, cols].T * p.scale, 0, h, cols=cols)
                    new = np.maximum(m, x.max(axis=1))
                    safe = np.where(np.isneginf(new), 0, new)
                    alpha = np.where(np.isneginf(m), 0, np.exp(m - safe))
                    e = np.where(p.ok[0, h][:, cols], np.exp(x - safe[:, None]), 0)
                    total = total * alpha + e.sum(axis=1)
                    o = o * alpha[:, None] + base.weigh(e, p.v[0, g, cols], p.ok[0, h][:, cols])
                    m = new
                output[b, h] = (o / np.where(total == 0, 1, total)[:, None]).astype(query.dtype)
                lse[b, h] = np.log(total) + np.where(np.isneginf(m), 0, m)
    return {"output": output, "logsumexp": lse}
