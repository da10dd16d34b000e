import math
import pathlib
import sys
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


def normalise(c):
    base.normalise(c)
    if c.T == 1 and not c.is_causal and c.mask is None:   # a single key gets everything
        c.weights = np.ones_like(c.weights)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    result = base.attend(dict(locals()), normalise=normalise)
    return result["output"]

dtypes = ("float64", "float32")
