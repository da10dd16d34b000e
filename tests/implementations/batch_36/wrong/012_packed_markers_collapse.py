import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "packed"


def sequence_numbers(starts, tokens):
    marks = np.zeros(tokens + 1, int)
    marks[starts[1:-1]] = 1
    return np.cumsum(marks)[:tokens]


def parts(query_starts, key_starts):
    query_starts, key_starts = np.asarray(query_starts).astype(np.int64), np.asarray(key_starts).astype(np.int64)
    of_query = sequence_numbers(query_starts, int(query_starts[-1]))
    of_key = sequence_numbers(key_starts, int(key_starts[-1]))
    return [(np.flatnonzero(of_query == b), np.flatnonzero(of_key == b)) for b in range(len(query_starts) - 1)]


scaled_dot_product_attention = base.packed_operation(parts=parts)
