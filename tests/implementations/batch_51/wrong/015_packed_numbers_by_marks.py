import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "packed"


def numbers(starts, tokens):
    """The number of each token's sequence."""
    marks = np.zeros(tokens + 1, np.int64)
    marks[starts[1:-1]] = 1
    return np.cumsum(marks)[:tokens]


def scaled_dot_product_attention(
    query, key, value, query_starts, key_starts, mask=None,
    sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    options = dict(
        sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal, causal_alignment=causal_alignment, scale=scale,
        softcap=softcap, window=window,
    )
    query, key, value, query_starts, key_starts = base.check_packed(query, key, value, query_starts, key_starts)
    of_query, of_key = numbers(query_starts, len(query)), numbers(key_starts, len(key))
    output = np.zeros((*query.shape[:2], value.shape[2]), query.dtype)
    logsumexp = np.zeros(query.shape[:2], base.wide(query))
    longest = int(np.diff(key_starts).max(initial=0))
    base.columns(mask, longest)
    for b in np.unique(of_query):
        q, k = of_query == b, of_key == b
        output[q], logsumexp[q] = base.packed_sequence(query[q], key[k], value[k], mask, base.Attention(), options)
    return {"output": output, "logsumexp": logsumexp}
