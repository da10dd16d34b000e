import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

import base

layout = "paged"


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None, sinks=None,
                                 alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None):
    block_table = np.asarray(block_table)
    batch, size = np.shape(query)[0], np.shape(key_pool)[1]
    if block_table.ndim != 2 or len(block_table) != batch:
        raise ValueError("batch")
    lengths = base.check_lengths(key_lengths, batch, block_table.shape[1] * size)
    flat = block_table.reshape(-1)
    most = max([-(-n // size) for n in lengths], default=0)
    rows = [flat[b * most:(b + 1) * most] for b in range(batch)]
    return base.paged(query, key_pool, value_pool, np.array(rows, dtype=np.int64).reshape(batch, most), lengths,
                      query_lengths=query_lengths, mask=mask, sinks=sinks, alibi_slopes=alibi_slopes,
                      is_causal=is_causal, causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window)
