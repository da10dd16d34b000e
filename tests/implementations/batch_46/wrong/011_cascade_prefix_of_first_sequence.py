import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged"


class Served(base.Steps):
    def paged(self, arguments):
        table, lengths = np.asarray(arguments["block_table"]), np.asarray(arguments["key_lengths"])
        self.prefix = 0
        if table.ndim == 2 and lengths.ndim == 1 and 2 <= table.shape[0] == lengths.shape[0]:
            same = (table == table[0]).all(axis=0)
            pages = int(np.argmin(same)) if not same.all() else len(same)
            size = np.asarray(arguments["key_pool"]).shape[1] if np.ndim(arguments["key_pool"]) == 4 else 1
            self.prefix = min(pages * size, int(lengths[0]))  # keys that all sequences share
        return super().paged(arguments)

    def gather(self, key_pool, value_pool, pages, count, c):
        self.own = count
        count = max(count, self.prefix)
        return super().gather(key_pool, value_pool, c.table[c.b], count, c)

    def sequence(self, q, k, v, N, mask, c):
        c.counted = self.own
        if mask is not None and mask.shape[-1] < k.shape[1]:
            k, v = k[:, : mask.shape[-1]], v[:, : mask.shape[-1]]
        return super().sequence(q, k, v, N, mask, c)

    def reach(self, p, c):
        own, c.L = c.L, np.maximum(c.L, min(self.prefix, c.T))
        allowed = super().reach(p, c)
        c.L = own
        return allowed


def scaled_dot_product_attention(
    query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None, sinks=None,
    alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    return Served().paged(dict(locals()))
