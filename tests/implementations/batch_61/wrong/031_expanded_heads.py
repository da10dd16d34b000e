import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    def heads(self, s):
        if s.past_key is None and s.Hkv > 1 and s.key.strides[1] == 0 and not base.quantized(s.key) and not base.quantized(s.value):
            # expanded by the caller: one head serves all
            s.kh = np.repeat(s.k[:, :1], s.Hq, axis=1)
            s.vh = np.repeat(s.v[:, :1], s.Hq, axis=1)
        else:
            super().heads(s)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    return Mine().run(**locals())
