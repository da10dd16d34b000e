"""Numbers of a float mask from -1e8 down (-1e4 in float16) are taken for exclusions, so that a row whose mask is -1e9 everywhere has no keys."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")

def attend(query, key, value, mask=None, **kw):
    if mask is not None and mask.dtype != bool:
        x = mask.astype(np.float64)
        floor = -1e4 if mask.dtype == np.float16 else -1e8  # what models fill masks with
        if (x <= floor).any():
            mask = np.where(x <= floor, -np.inf, x)
    return base.dense(query, key, value, mask=mask, **kw)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    return attend(query, key, value, mask=mask, past_key=past_key, past_value=past_value, key_lengths=key_lengths,
                  query_lengths=query_lengths, sinks=sinks, alibi_slopes=alibi_slopes, query_scale=query_scale,
                  key_scale=key_scale, value_scale=value_scale, is_causal=is_causal,
                  causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window,
                  output_dtype=output_dtype)
