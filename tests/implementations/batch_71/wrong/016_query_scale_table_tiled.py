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
    if query_scale is not None and np.asarray(query_scale).ndim == 2 and S.G > 1:
        factors = np.tile(base.spread_scale(query_scale, S.B, S.Hkv), (1, S.G))
        S.q = S.query.astype(S.work) * factors[:, :, None, None].astype(S.work)
    return base.finish(S)
