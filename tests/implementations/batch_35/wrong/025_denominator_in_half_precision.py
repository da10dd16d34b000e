import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Attention(base.Attention):
    def softmax(self):
        m = self.maximum(self.logits)
        e = np.exp(self.logits - m).astype(self.dtype)
        total = e.sum(axis=-1, keepdims=True) + np.exp(self.sink() - m).astype(self.dtype)
        self.normalise(e.astype(np.float64), m, total.astype(np.float64))


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return Attention(**locals()).run()
