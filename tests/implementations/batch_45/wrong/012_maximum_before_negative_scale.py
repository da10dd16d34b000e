import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Attention):
    def largest(self, logits, allowed):
        plain = not self.a.softcap and self.a.alibi_slopes is None
        if not plain or (self.mask is not None and self.mask.dtype != bool):
            return super().largest(logits, allowed)
        raw = np.where(allowed, self.dots(), -np.inf).max(axis=-1, keepdims=True, initial=-np.inf)
        m = np.where(allowed.any(axis=-1, keepdims=True), raw * self.scale, -np.inf).astype(self.work)
        return m if self.sinks is None else np.maximum(m, self.sinks)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return Kernel(locals()).run()
