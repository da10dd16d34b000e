import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = base.DTYPES


def tree(terms):
    """The sum over axis 0, in a tree of pairs: first with last."""
    if not terms.shape[0]:
        return np.zeros(terms.shape[1:], terms.dtype)
    while terms.shape[0] > 1:
        half = terms.shape[0] // 2
        pairs = terms[:half] + terms[::-1][:half]
        terms = np.concatenate([pairs, terms[half:half + 1]]) if terms.shape[0] % 2 else pairs
    return terms[0]


def product(a, b):
    result = np.zeros((a.shape[0], b.shape[1]), b.dtype)
    for i, row in enumerate(a):
        result[i] = tree(row[:, None] * b)
    return result


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    """All sums are trees; the matrices of values and output are multiplied first; scores are computed by columns."""
    base.check_single(x, w_query, w_key, w_value, w_output)
    dtype = x.dtype
    tokens, wq, wk, wv = (base.widen(array, dtype) for array in (x, w_query, w_key, w_value))
    with np.errstate(all="ignore"):
        q, k, v = product(tokens, wq), product(tokens, wk), product(tokens, wv)
        scores = (product(k, q.T) * base.the_scale(scale, q.shape[1], dtype)).T
        top = scores.max(axis=1, keepdims=True, initial=-np.inf)
        exponentials = np.exp(scores - top)
        weights = exponentials * (1 / tree(exponentials.T)[:, None])
        mapped = v if w_output is None else product(tokens, product(wv, base.widen(w_output, dtype)))
        output = product(weights.astype(q.dtype), mapped)
    return base.single_result(output, weights, scores, q, k, v, dtype)
