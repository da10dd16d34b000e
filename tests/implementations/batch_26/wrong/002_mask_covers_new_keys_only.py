import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def with_past(mask, past):
    """The cache has been admitted already: masks are for the new tokens."""
    mask = mask.copy()
    mask[..., :past] = True if mask.dtype == bool else 0
    return mask


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
                                 sinks=None, alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None):
    a = dict(locals())
    base.check_dense(a)
    if mask is not None and past_key is not None:
        a["mask"] = with_past(mask, past_key.shape[2])
    return base.dense(a)
