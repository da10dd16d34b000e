import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

import base

layout = "packed"


class Sequence(base.Sequence):
    def bias(self, s, slope, p, j):
        rows = np.arange(len(p))
        return s - slope * np.abs(rows[:, None] - j[None, :]).astype(s.dtype)


def scaled_dot_product_attention(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    return base.packed(query, key, value, query_starts, key_starts, mask, sinks, alibi_slopes, is_causal, causal_alignment,
                       scale, softcap, window, sequence=Sequence())
