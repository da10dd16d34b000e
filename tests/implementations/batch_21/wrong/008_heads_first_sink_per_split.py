import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

layout = "paged_heads_first"
dtypes = base.FOUR
SPLIT = 32


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None,
                                 sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None):
    """Decoding with keys in parts: each part gives an output and a logsumexp, and the parts are merged."""
    table = np.asarray(block_table).astype(int)
    base.need(table.ndim == 2 and len(table) == len(query), "batch")
    kp, vp, lengths, counts, m3 = base.check_paged(query, key_pool, value_pool, key_lengths, query_lengths, mask, True,
                                                   table.shape[1] * key_pool.shape[2], causal_alignment)
    nb, hq, sq, _ = query.shape
    size = kp.shape[1]
    out, lse = np.zeros((nb, hq, sq, vp.shape[3])), np.zeros((nb, hq, sq))
    for b in range(nb):
        L, n = lengths[b], counts[b]
        p = np.arange(n) + base.start_of(causal_alignment, L, n)
        parts = []
        for t in range(0, max(L, 1), SPLIT):
            j = np.arange(t, min(t + SPLIT, L))
            k, v = (base.up(pool[table[b][j // size], j % size]).swapaxes(0, 1) for pool in (kp, vp))
            # positions relative to the part
            parts.append(base.attend(base.up(query[b, :, :n]), k, v, p - t, None if m3 is None else m3[..., j],
                                     alibi_slopes, sinks, scale, softcap, is_causal, window))
        o, z = np.stack([x["output"] for x in parts]), np.stack([x["logsumexp"] for x in parts])
        with base.quiet():
            top = z.max(axis=0)
            at = np.where(top == -np.inf, 0, top)
            share = np.exp(z - at)
            total = share.sum(axis=0)
            o = np.where(np.isnan(share)[..., None] | (share[..., None] > 0), o * share[..., None], 0)
            out[b, :, :n] = o.sum(axis=0) / np.where(total == 0, 1, total)[..., None]
            lse[b, :, :n] = np.log(total) + at
    return {"output": base.down(out, query.dtype), "logsumexp": base.down(lse, base.wide_of(query))}
