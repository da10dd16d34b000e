import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "packed"


def numbers(starts, tokens):
    marks = np.zeros(tokens + 1, np.int64)
    marks[starts[1:-1]] = 1
    return np.cumsum(marks[:tokens])


def scaled_dot_product_attention(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    args = dict(locals())
    query, key, value, qs, ks = base.check_packed(query, key, value, query_starts, key_starts)
    qid, kid = numbers(qs, len(query)), numbers(ks, len(key))
    ids = np.unique(qid)
    rows = [np.flatnonzero(qid == n) for n in ids]
    cols = [np.flatnonzero(kid == n) for n in ids]
    out = np.zeros((query.shape[0], query.shape[1], value.shape[2]), query.dtype)
    lse = np.zeros(query.shape[:2], np.float64 if query.dtype == np.float64 else np.float32)
    options = {n: args[n] for n in ("sinks", "alibi_slopes", "is_causal", "causal_alignment", "scale", "softcap", "window")}
    for r, c in zip(rows, cols):
        found = base.run(*(x.swapaxes(0, 1)[None] for x in (query[r], key[c], value[c])),
                         mask=base.columns(mask, len(c)), **options)
        out[r] = found["output"][0].swapaxes(0, 1)
        lse[r] = found["logsumexp"][0].swapaxes(0, 1)
    return {"output": out, "logsumexp": lse}
