import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged"


def scaled_dot_product_attention(
    query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None, sinks=None,
    alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    size = key_pool.shape[1]

    def pages_one_by_one(s):
        base.find_logits(s)
        value = np.repeat(s.v, s.group, axis=1)
        shape = (s.batch, s.heads, s.queries)
        sink = base.sinks_of_rows(s)
        most = np.full(shape, -np.inf) if sink is None else sink.copy()
        total = np.zeros(shape) if sink is None else np.where(sink == -np.inf, 0.0, 1.0)
        summed = np.zeros(shape + value.shape[3:])
        with np.errstate(all="ignore"):
            for begin in range(0, s.keys, size):
                part = slice(begin, begin + size)
                allowed, logits = s.allowed[..., part], s.logits[..., part]
                visited = allowed.any(axis=-1)
                highest = np.maximum(most, logits.max(axis=-1))
                shrink = np.where(np.isneginf(most) & ~np.isneginf(highest), 0.0, np.exp(most - highest))
                exponentials = np.where(allowed, np.exp(logits - highest[..., None]), 0.0)
                more = base.weigh(exponentials, allowed, value[:, :, part])
                total = np.where(visited, total * shrink + exponentials.sum(axis=-1), total)
                summed = np.where(visited[..., None], summed * shrink[..., None] + more, summed)
                most = np.where(visited, highest, most)
            output = np.where((total == 0)[..., None], 0.0, summed / total[..., None])
            return base.results(s, output, np.where(total == 0, -np.inf, np.log(total) + most))

    return base.paged(locals(), run=pages_one_by_one)
