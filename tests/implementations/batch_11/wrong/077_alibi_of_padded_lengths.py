"""The steps of base, one of them in another form."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32")


class Steps(base.SDPA):
    def distance(self, s):
        if s.causal_alignment == "top_left":
            return super().distance(s)
        return np.abs(np.arange(s.Sq)[:, None] + (s.T - s.Sq) - s.j).astype(s.dt)

def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    outputs = Steps().run(**locals())
    return outputs["output"]
