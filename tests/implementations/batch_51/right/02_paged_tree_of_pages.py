import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged"


class Attention(base.Attention):
    """A part for each page, normalised by itself, and then merged in pairs: a tree."""

    def __init__(self, size):
        self.size = size

    def attend(self, logits, keep):
        states = []
        for lo in range(0, self.T, self.size):
            values, largest, total = self.part(logits, keep, lo, min(lo + self.size, self.T))
            states.append((np.where(total[..., None] == 0, self.work.type(0), values / total[..., None]), largest + np.log(total)))
        if self.sinks is not None:
            nothing = np.zeros((self.B, self.Hq, self.Sq, self.Ev), self.work)
            states.append((nothing, np.broadcast_to(self.sink(), nothing.shape[:3])))
        if not states:
            return super().attend(logits, keep)
        while len(states) > 1:
            merged = [merge(*a, *b) for a, b in zip(states[::2], states[1::2])]
            states = merged + states[len(merged) * 2 :]
        return None, states[0][1], states[0][0]


def merge(a, log_a, b, log_b):
    largest = np.maximum(log_a, log_b)
    safe = np.where(largest == -np.inf, 0, largest)
    of_a, of_b = np.exp(log_a - safe), np.exp(log_b - safe)
    total = of_a + of_b
    parts = [np.where(log[..., None] == -np.inf, 0, weight[..., None] * part) for log, weight, part in ((log_a, of_a, a), (log_b, of_b, b))]
    return np.where(total[..., None] == 0, 0, (parts[0] + parts[1]) / total[..., None]).astype(a.dtype), safe + np.log(total)


def scaled_dot_product_attention(
    query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None,
    sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    options = dict(
        query_lengths=query_lengths, mask=mask, sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal,
        causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window,
    )
    size = base.page_size(np.asarray(key_pool), False)
    pages, lengths = base.pages_of_table(block_table, key_lengths, size)
    return base.paged(query, key_pool, value_pool, pages, lengths, make=lambda b: Attention(size), **options)
