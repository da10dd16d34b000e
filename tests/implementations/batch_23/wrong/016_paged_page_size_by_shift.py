import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np


layout = "paged"


def gather(pool, row, length):
    size = pool.shape[1]
    shift = size.bit_length() - 1
    keep = size - 1
    j = np.arange(length)
    if size & keep:
        page, slot = j >> shift, j % size
        slot = np.where(page < len(row), slot, 0)
        page = np.minimum(page, len(row) - 1)
    else:
        page, slot = j >> shift, j & keep
    return pool[row[page], slot].swapaxes(0, 1)[None]


def scaled_dot_product_attention(
    query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None, sinks=None,
    alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    common = dict(mask=mask, sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal,
                  causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window)
    if query.shape[0] == 0:
        return {"output": np.zeros(query.shape[:3] + value_pool.shape[-1:], query.dtype), "logsumexp": np.zeros(query.shape[:3], base.acc_of(query.dtype))}
    outputs, logs = [], []
    for b in range(query.shape[0]):
        n = int(key_lengths[b])
        k, v = gather(key_pool, block_table[b], n), gather(value_pool, block_table[b], n)
        common["query_lengths"] = None if query_lengths is None else np.asarray(query_lengths)[b : b + 1]
        (r,) = base.sequences(base.dense, [(query[b : b + 1], k, v)], common)
        outputs.append(r["output"])
        logs.append(r["logsumexp"])
    return {"output": np.concatenate(outputs), "logsumexp": np.concatenate(logs)}
