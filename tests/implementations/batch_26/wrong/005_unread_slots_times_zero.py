import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

layout = "paged"


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None, sinks=None,
                                 alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    a = dict(locals())
    pages, lengths, size = base.check_paged(a)
    B, Hq, Sq, E = query.shape
    Hkv, Ev = key_pool.shape[2], value_pool.shape[3]
    c = base.acc(query.dtype)
    whole = [len(g) * size for g in pages]
    out, lse = np.zeros((B, Hq, Sq, Ev), query.dtype), np.zeros((B, Hq, Sq), c)
    for b in range(B):
        # whole pages are loaded; the slots behind the last key are masked
        k = key_pool[pages[b]].reshape(whole[b], Hkv, E).swapaxes(0, 1)
        v = value_pool[pages[b]].reshape(whole[b], Hkv, Ev).swapaxes(0, 1)
        m = None
        if mask is not None:
            m = np.zeros(mask.shape[:-1] + (whole[b],), mask.dtype)
            m[..., : lengths[b]] = mask[..., : lengths[b]]
        d = {n: a[n] for n in base.COMMON} | {"query": query[b : b + 1], "key": k[None], "value": v[None], "mask": m, "key_lengths": lengths[b : b + 1]}
        if query_lengths is not None:
            d["query_lengths"] = base.ints(query_lengths)[b : b + 1]

        def core(t):
            made = base.plain(t)
            if t.L < len(t.v):
                made["output"] = made["output"] + np.zeros((Sq, len(t.v) - t.L), c) @ t.v[t.L :]
            return made

        made = base.dense(d, core, presents=False)
        out[b], lse[b] = made["output"][0], made["logsumexp"][0]
    return {"output": out, "logsumexp": lse}
