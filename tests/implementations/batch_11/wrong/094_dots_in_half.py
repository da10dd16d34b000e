"""The steps of base, one of them in another form."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float32", "bfloat16", "float16")


class Steps(base.SDPA):
    def score(self, s):
        dt = s.query.dtype
        if dt.itemsize > 2:
            return super().score(s)
        total = np.zeros((s.B, s.Hq, s.Sq, s.T), dt)
        for e in range(s.E):
            part = s.q[:, :, :, None, e] * s.k[:, :, None, :, e]
            total = (total.astype(s.dt) + part).astype(dt)
        s.scores = total.astype(s.dt)

def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    outputs = Steps().run(**locals())
    return outputs["output"]
