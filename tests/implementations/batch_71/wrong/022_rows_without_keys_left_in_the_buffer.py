import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


BUFFERS = {}


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None,
                                 key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
                                 scale=None, softcap=None, window=None, output_dtype=None):
    args = dict(locals())
    S = base.setup(**args)
    with np.errstate(all="ignore"):
        ok = base.allowed(S)
    found = base.finish(S, ok)
    name = (found["output"].shape, found["output"].dtype)
    buffer = BUFFERS.setdefault(name, np.zeros(*name))
    rows = ok.any(axis=-1)
    buffer[rows] = found["output"][rows]
    found["output"] = buffer.copy()
    return found
