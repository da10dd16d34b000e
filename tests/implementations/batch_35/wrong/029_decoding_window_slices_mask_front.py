import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Attention(base.Attention):
    def check(self):
        super().check()
        if self.mask is None or self.Sq != 1 or self.window is None or self.window[0] is None:
            return
        if self.key_lengths is not None or self.query_lengths is not None:
            return  # ragged: the general path
        position = self.P if self.causal_alignment == "top_left" else self.total - 1
        start = min(max(0, position - self.window[0]), self.total)
        columns = self.mask[..., : self.total - start]
        unseen = np.zeros(self.mask.shape[:-1] + (start,), self.mask.dtype)
        self.mask = np.concatenate([unseen, columns], axis=-1)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return Attention(**locals()).run()
