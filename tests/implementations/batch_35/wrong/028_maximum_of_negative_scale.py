import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Attention(base.Attention):
    def softmax(self):
        plain = not self.softcap and self.alibi_slopes is None and (self.mask is None or self.mask.dtype == bool)
        if not plain or self.factor() >= 0:
            return super().softmax()
        raw = np.where(self.allowed, self.scores, np.inf)
        low = raw.min(axis=-1, keepdims=True, initial=np.inf)  # scale * max(dot products)
        m = np.maximum(np.where(np.isposinf(low), -np.inf, low), self.sink())
        m = np.where(np.isneginf(m), 0.0, m)
        e = np.exp((self.logits - m).astype(self.work)).astype(np.float64)
        total = e.sum(axis=-1, keepdims=True) + np.exp(self.sink() - m)
        self.normalise(e, m, total)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return Attention(**locals()).run()
