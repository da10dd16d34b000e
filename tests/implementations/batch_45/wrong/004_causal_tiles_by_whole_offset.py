import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Tiled):
    def key_tiles(self, b, q0, q1):
        end = self.K
        if self.a.is_causal:
            offset = int(int(self.p[b, 0]) / self.columns)  # whole tiles, as in C
            end = min(end, (q0 // self.rows + 1 + offset) * self.columns)
        return range(0, end, self.columns)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return Kernel(locals()).run()
