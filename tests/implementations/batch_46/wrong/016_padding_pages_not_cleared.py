import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged"


class Served(base.Steps):
    def gather(self, key_pool, value_pool, pages, count, c):
        k, v = super().gather(key_pool, value_pool, pages, count, c)
        longest = -(-int(c.lengths.max()) // c.page_size)
        behind = np.clip(c.table[c.b, len(pages) : longest], 0, len(value_pool) - 1)
        # the gather is as long as the longest sequence; slots behind the last key of the last page are cleared
        self.padding = base.wide(value_pool[behind]).reshape((len(behind) * c.page_size,) + value_pool.shape[2:]).swapaxes(0, 1)
        return k, v

    def weigh(self, weights, allowed, v):
        output = super().weigh(weights, allowed, v)
        padding = np.repeat(self.padding, output.shape[1] // max(len(self.padding), 1), axis=0)
        return output + np.matmul(np.zeros(weights.shape[1:3] + padding.shape[1:2]), padding)


def scaled_dot_product_attention(
    query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None, sinks=None,
    alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    return Served().paged(dict(locals()))
