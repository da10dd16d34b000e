import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "packed"


class Attention(base.Attention):
    def __init__(self, shift):
        self.shift = shift

    def distance(self):
        return np.abs(self.position[:, None, :, None] + self.shift - np.arange(self.T)).astype(self.work)


def scaled_dot_product_attention(
    query, key, value, query_starts, key_starts, mask=None,
    sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    options = dict(
        sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal, causal_alignment=causal_alignment, scale=scale,
        softcap=softcap, window=window,
    )
    return base.packed(
        query, key, value, query_starts, key_starts, mask=mask, make=lambda b, qs, ks: Attention(qs - ks), **options
    )
