import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def score(self, s):
        super().score(s)
        if s.query.dtype == np.int8 and s.all_key.dtype == np.int8:
            key = np.repeat(s.all_key, s.G, axis=1).astype(np.int16)
            dots = (s.query.astype(np.int16) @ key.swapaxes(-1, -2)).astype(s.work)
            scales = np.repeat(self.spread(s, s.query_scale) * self.spread(s, s.key_scale), s.G, axis=1)
            s.dots = dots * scales[:, :, None, None]
            s.scores = s.dots * self.factor(s)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    return Mine().run(**locals())
