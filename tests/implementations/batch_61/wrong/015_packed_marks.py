import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "packed"


def numbers_of_sequences(starts, tokens):
    marks = np.zeros(tokens + 1, dtype=np.int64)
    marks[starts[1:-1]] += 1
    return np.cumsum(marks)[:tokens]


def scaled_dot_product_attention(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    query_starts, key_starts = base.check_packed(query, key, value, query_starts, key_starts)
    rest = dict(sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal, causal_alignment=causal_alignment,
                scale=scale, softcap=softcap, window=window)
    output = np.zeros((len(query), query.shape[1], value.shape[2]), dtype=query.dtype)
    logsumexp = np.zeros((len(query), query.shape[1]), dtype=base.work_of(query))
    of_queries, of_keys = numbers_of_sequences(query_starts, len(query)), numbers_of_sequences(key_starts, len(key))
    for b in range(len(query_starts) - 1):
        rows, keys = of_queries == b, of_keys == b
        output[rows], logsumexp[rows] = base.sequence(base.Attention(), query[rows], key[keys], value[keys], mask, rest)
    return {"output": output, "logsumexp": logsumexp}
