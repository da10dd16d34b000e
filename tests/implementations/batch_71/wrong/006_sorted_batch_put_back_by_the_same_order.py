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
    found = base.finish(S)
    if S.has_key_lengths and S.B > 1:
        order = np.argsort(-S.L, kind="stable")  # the longest first
        rows = [found["output"][b] for b in order]
        states = [found["logsumexp"][b] for b in order]
        found["output"] = np.stack(rows)[order]
        found["logsumexp"] = np.stack(states)[order]
    return found
