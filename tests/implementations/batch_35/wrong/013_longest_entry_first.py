import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Attention(base.Attention):
    TILE = 16

    def softmax(self):
        if self.key_lengths is not None and self.B > 0:
            tiles = max(1, -(-int(self.L[0]) // self.TILE))  # entries come sorted, the longest first
            self.allowed = self.allowed & (self.j < tiles * self.TILE)
        given, self.logits = self.logits, np.where(self.allowed, self.logits, -np.inf)
        super().softmax()
        self.logits = given


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return Attention(**locals()).run()
