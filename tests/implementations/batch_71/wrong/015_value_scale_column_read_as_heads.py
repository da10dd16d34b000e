import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None,
                                 key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
                                 scale=None, softcap=None, window=None, output_dtype=None):
    args = dict(locals())
    if value_scale is not None:
        flat = np.asarray(value_scale)
        if flat.ndim == 2 and np.asarray(value).ndim == 4 and flat.shape == (value.shape[0], 1) and flat.size == value.shape[1]:
            args["value_scale"] = flat.reshape(-1)
    return base.run(**args)
