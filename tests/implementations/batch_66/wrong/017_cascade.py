import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged"


def scaled_dot_product_attention(
    query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None, sinks=None,
    alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    arguments = dict(locals())
    counted = np.asarray(key_lengths)
    prefix = [0]

    def find_pages(a, batch, size):
        pages, lengths = base.pages_of_table(a, batch, size)
        table = np.asarray(block_table)
        if batch > 1:
            # pages with which every sequence begins are attended once, for all
            same = (table == table[:1]).all(axis=0)
            common = table.shape[1] if same.all() else int(np.argmin(same))
            prefix[0] = min(common, int(lengths.max()) // size) * size
        reached = np.maximum(lengths, prefix[0])
        return [table[b, : -(-reached[b] // size)] for b in range(batch)], reached

    def positions_of(s, b):
        if causal_alignment == "bottom_right":
            s.offset = int(counted[b]) - s.count

    return base.paged(arguments, find_pages=find_pages, adjust=positions_of)
