import math
import pathlib
import sys
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


def check(c):
    if c.mask is not None and c.past_key is not None and c.mask.shape[-1] == c.key.shape[2]:
        P = c.past_key.shape[2]
        lead = np.ones if c.mask.dtype == np.bool_ else np.zeros
        c.mask = np.concatenate([lead((*c.mask.shape[:-1], P), c.mask.dtype), c.mask], axis=-1)
    base.check(c)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    result = base.attend(dict(locals()), check=check)
    return result

dtypes = ("float64", "float32")
