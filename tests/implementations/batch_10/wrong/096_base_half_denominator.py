import math
import pathlib
import sys
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


import ml_dtypes
dtypes = ("float32", "float16", "bfloat16")


def normalise(c):
    base.normalise(c)
    if c.query.dtype.itemsize == 2 and c.sinks is None:
        e = np.exp(c.logits - np.where(c.ok.any(-1), c.logits.max(-1, initial=-np.inf), 0)[..., None]).astype(c.query.dtype)
        total = np.zeros(e.shape[:-1], e.dtype)
        for j in range(c.T):
            total = (total + e[..., j]).astype(e.dtype)
        total = total.astype(np.float32)
        c.weights = e.astype(np.float32) / np.where(total == 0, 1, total)[..., None]


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    return base.attend(dict(locals()), normalise=normalise)["output"]
