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
        query, key = arguments["query"], arguments["key"]
        if np.ndim(query) == np.ndim(key) == 4 and query.shape[1] > key.shape[1] > 0:
            heads = np.arange(query.shape[1]) * key.shape[1] // query.shape[1]
            for name in ("key", "value", "past_key", "past_value"):
                x = arguments[name]
                if x is not None and np.ndim(x) == 4 and x.shape[1] == key.shape[1]:
                    arguments[name] = x[:, heads]
        return super().check(**arguments)

def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    outputs = Steps().run(**locals())
    return outputs["output"]
