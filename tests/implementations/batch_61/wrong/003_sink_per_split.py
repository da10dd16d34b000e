import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    SPLIT = 16

    def sum(self, s):
        total = s.e.sum(axis=-1, keepdims=True)
        if s.Sq == 1 and s.sinks is not None:
            # decoding: each part of the keys has a denominator of its own, which begins with the sink
            parts = -(-s.K // self.SPLIT)
            sink = np.exp(self.sink_column(s) - s.m)
            total = -sink
            for part in range(max(parts, 1)):
                total = total + (s.e[..., part * self.SPLIT:(part + 1) * self.SPLIT].sum(axis=-1, keepdims=True) + sink)
        return total


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    return Mine().run(**locals())
