import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Attention(base.Attention):
    BLOCK = 64

    def weigh(self):
        super().weigh()
        if self.sinks is None or self.Ev <= self.BLOCK:
            return
        total = self.weights.sum(axis=-1, keepdims=True)
        self.output[..., self.BLOCK :] /= np.where(total == 0, 1.0, total)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return Attention(**locals()).run()
