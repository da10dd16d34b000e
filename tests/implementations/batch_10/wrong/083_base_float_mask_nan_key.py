import math
import pathlib
import sys
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base


def add_mask(c):
    base.add_mask(c)
    c.added = c.mask is not None and c.mask.dtype != np.bool_


def allow(c):
    base.allow(c)
    if c.added:
        hit = c.mask == -np.inf
        c.excluded_by_number = np.broadcast_to(hit, c.ok.shape)
        c.ok = c.ok | (c.excluded_by_number & np.isnan(c.logits))      # NaN plus minus infinity stays NaN


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    result = base.attend(dict(locals()), allow=allow, add_mask=add_mask)
    return result

dtypes = ("float64", "float32")
