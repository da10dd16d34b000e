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
    S = base.setup(**args)
    if key_scale is not None:
        numbers = S.present_key.astype(np.float32)
        factors = np.asarray(base.spread_scale(key_scale, S.B, S.Hkv), np.float32)
        S.k = (numbers * factors[:, :, None, None]).astype(S.work)
    return base.finish(S)
