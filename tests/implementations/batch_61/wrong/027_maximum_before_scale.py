import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def maximum(self, s):
        if s.softcap or s.alibi_slopes is not None or (s.mask is not None and s.mask.dtype != bool):
            return super().maximum(s)
        top = np.where(s.allowed, s.dots, s.work.type(-np.inf)).max(axis=-1, keepdims=True, initial=-np.inf)
        m = np.where(top == -np.inf, s.work.type(-np.inf), top * self.factor(s))
        if s.sinks is not None:
            m = np.maximum(m, self.sink_column(s))
        return np.where(m == -np.inf, s.work.type(0), m)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    return Mine().run(**locals())
