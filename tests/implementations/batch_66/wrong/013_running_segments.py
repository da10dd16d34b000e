import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "packed"


def segments(starts, tokens):
    """The sequence of each token."""
    steps = np.zeros(tokens + 1, np.int64)
    steps[np.asarray(starts).astype(np.int64)[1:-1]] += 1
    return np.cumsum(steps)[:tokens]


def scaled_dot_product_attention(
    query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    arguments = dict(locals())
    base.check_packed(arguments)
    of_query, of_key = segments(query_starts, len(query)), segments(key_starts, len(key))
    return base.packed(arguments, rows=lambda b: [np.nonzero(of_query == b)[0], np.nonzero(of_key == b)[0]])
