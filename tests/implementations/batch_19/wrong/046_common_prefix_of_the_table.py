"""Pages that all sequences have in common at their beginning are attended once for all."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
layout = "paged"


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None,
                                 sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None):
    size = key_pool.shape[1]
    table = np.asarray(block_table).astype(int)
    lengths = np.asarray(key_lengths).astype(int)
    B, most = table.shape
    common = 0
    if B > 1:
        while common < most and (table[:, common] == table[0, common]).all():
            common += 1
    prefix = common * size
    if mask is not None:
        prefix = min(prefix, mask.shape[-1])
    output = np.zeros((*query.shape[:3], value_pool.shape[3]), query.dtype)
    lse = np.zeros(query.shape[:3])
    for b in range(B):
        L = int(lengths[b])
        T = max(L, prefix)
        slots = [(table[b, j // size], j % size) for j in range(T)]
        pages, offsets = np.array(slots, int).reshape(-1, 2).T
        k, v = (pool[pages, offsets].swapaxes(0, 1)[None] for pool in (key_pool, value_pool))
        c = base.prepare(query[b:b + 1], k, v, mask=base.columns(mask, T), key_lengths=np.array([L]), sinks=sinks,
                         alibi_slopes=alibi_slopes, query_lengths=None if query_lengths is None else query_lengths[b:b + 1],
                         is_causal=is_causal, causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window)
        c.L = np.array([T])
        c.ok = base.allowed(c)
        weights, part = base.softmax(c, base.logits(c))
        output[b] = base.finish(c, base.weigh(weights, c.ok, base.shared(c, c.v)))["output"][0]
        lse[b] = part[0]
    return {"output": output, "logsumexp": lse}
