"""Carries everything in float32, multiplies w_value by w_output first, scales the queries before they meet the keys, and
divides by the softmax denominator last."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = base.DTYPES
conventions = {"accumulation": "float32"}


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    p = base.single_plan(x, w_query, w_key, w_value, w_output, scale)
    x, w_query, w_key, w_value = (a.astype(np.float32) for a in (p.x, p.w_query, p.w_key, p.w_value))
    query, key, value = np.split(x @ np.concatenate((w_query, w_key, w_value), axis=1),
                                 [w_query.shape[1], 2 * w_query.shape[1]], axis=1)
    scores = (query * np.float32(p.scale)) @ key.T
    with np.errstate(all="ignore"):
        e = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
        total = e.sum(axis=-1, keepdims=True)
        mixed = value if p.w_output is None else x @ (w_value @ p.w_output.astype(np.float32))
        output = (e @ mixed) / total
        weights = e / total
    return base.single_finish(p, output=output, weights=weights, scores=scores, query=query, key=key, value=value)
