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
    if S.query.dtype != np.int8 or S.key.dtype != np.int8:
        return base.finish(S)
    numbers = np.repeat(np.concatenate([S.past_key, S.key], axis=2) if S.P else S.key, S.G, axis=1).astype(np.int16)
    dots = S.query.astype(np.int16) @ np.swapaxes(numbers, -1, -2)
    factor = np.full((S.B, S.Hq), S.scale)
    for given in (query_scale, key_scale):
        if given is not None:
            factor = factor * np.repeat(base.spread_scale(given, S.B, S.Hkv), S.G, axis=1)
    return base.finish(S, scores=dots.astype(S.work) * factor[:, :, None, None])
