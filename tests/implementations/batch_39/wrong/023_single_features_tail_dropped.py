import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = base.DTYPES

BLOCK = 16


def _product(a, b):
    width = a.shape[1]
    if width < BLOCK:
        return a @ b
    total = np.zeros((a.shape[0], b.shape[1]), dtype=a.dtype)
    for n in range(width // BLOCK):
        part = slice(n * BLOCK, (n + 1) * BLOCK)
        total += a[:, part] @ b[part]
    return total


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    p = base.single_plan(x, w_query, w_key, w_value, w_output, scale)
    query, key, value = (_product(p.x, w) for w in (p.w_query, p.w_key, p.w_value))
    scores = (query @ key.T) * p.scale
    weights = base.plain_softmax(scores)
    output = weights @ value
    if p.w_output is not None:
        output = output @ p.w_output
    return base.single_finish(p, output=output, weights=weights, scores=scores, query=query, key=key, value=value)
