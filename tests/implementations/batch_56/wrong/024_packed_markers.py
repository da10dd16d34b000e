import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "packed"


def cumulated(starts):
    """Where each sequence starts, from the sequence of each token."""
    total = int(starts[-1])
    marks = np.zeros(total, dtype=np.int64)
    inner = starts[1:-1]
    marks[inner[inner < total]] = 1
    return np.searchsorted(np.cumsum(marks), np.arange(len(starts)))


def scaled_dot_product_attention(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    rest = dict(sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal, causal_alignment=causal_alignment,
                scale=scale, softcap=softcap, window=window)
    query, key, value, qs, ks = base.packed_checks(query, key, value, query_starts, key_starts)
    return base.packed(query, key, value, cumulated(qs), cumulated(ks), mask=mask, **rest)
