import math
import pathlib
import sys
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


def allow(c):
    base.allow(c)
    if c.key.strides[0] == 0 and c.B > 1 and c.past_key is None:        # one prefix for all: one table of what is visible
        c.ok = np.repeat(c.ok[:1], c.B, axis=0)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    return base.attend(dict(locals()), allow=allow)["output"]

dtypes = ("float64", "float32")
