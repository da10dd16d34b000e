"""The steps of base, one of them in another form."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32")


class Steps(base.SDPA):
    def check(self, **arguments):
        for name in ("past_key", "past_value"):
            past = arguments[name]
            if past is not None and np.ndim(past) == 4 and past.shape[0] == 1:
                arguments[name] = np.repeat(past, arguments["query"].shape[0], 0)
        return super().check(**arguments)

def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    outputs = Steps().run(**locals())
    return outputs
