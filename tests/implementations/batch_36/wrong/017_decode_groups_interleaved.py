import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "bshe"


def scaled_dot_product_attention(query, key, value, mask=None, key_lengths=None, query_lengths=None, sinks=None,
                                 alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None):
    given = dict(mask=mask, key_lengths=key_lengths, query_lengths=query_lengths, sinks=sinks, alibi_slopes=alibi_slopes,
                 is_causal=is_causal, causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window)
    query, key, value = np.asarray(query), np.asarray(key), np.asarray(value)
    if query.ndim == 4 and key.ndim == 4 and value.ndim == 4 and query.shape[1] == 1:
        heads, own = query.shape[2], key.shape[2]
        if own and heads % own == 0 and value.shape[2] == own:
            order = np.arange(heads) % own  # (group, key head)
            key, value = key[:, :, order], value[:, :, order]
    return base.bshe(query, key, value, **given)["output"]
