import math
import pathlib
import sys
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


def normalise(c):
    base.normalise(c)
    if c.T > 64 and c.sinks is None and c.wide == np.float64:
        total = np.add.accumulate(np.exp(c.logits - np.where(c.ok.any(-1), c.logits.max(-1), 0)[..., None]).astype(np.float32), axis=-1)[..., -1:]
        top = np.where(c.ok.any(-1), c.logits.max(-1), 0)[..., None]
        c.weights = np.exp(c.logits - top) / np.where(total == 0, 1, total)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    result = base.attend(dict(locals()), normalise=normalise)
    return result["output"]

dtypes = ("float64", "float32")
