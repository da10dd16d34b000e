import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Attention(base.Attention):
    def check_mask(self):
        m = None if self.mask is None else np.asarray(self.mask)
        if m is not None and m.ndim >= 2 and self.P > 0 and m.shape[-1] == self.Sk:
            past = np.ones(m.shape[:-1] + (self.P,), bool) if m.dtype == bool else np.zeros(m.shape[:-1] + (self.P,), m.dtype)
            self.mask = np.concatenate([past, m], axis=-1)
        super().check_mask()


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return Attention(**locals()).run()
