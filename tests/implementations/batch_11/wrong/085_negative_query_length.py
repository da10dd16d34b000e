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
        lengths = arguments.pop("query_lengths")
        if lengths is None:
            return super().check(**arguments)
        try:
            return super().check(query_lengths=lengths, **arguments)
        except base.Refused as reason:
            if "query length is out of range" not in str(reason):
                raise
        s = super().check(**arguments)
        s.query_lengths = np.asarray(lengths)
        return s

def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    outputs = Steps().run(**locals())
    return outputs
