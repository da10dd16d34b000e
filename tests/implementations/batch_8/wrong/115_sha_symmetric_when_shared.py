import math

import numpy as np


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    if x.ndim != 2 or not w_query.shape[0] == w_key.shape[0] == w_value.shape[0] == x.shape[1]:
        raise ValueError("shapes")
    if w_query.shape[1] != w_key.shape[1] or (w_output is not None and w_output.shape[0] != w_value.shape[1]):
        raise ValueError("shapes")
    if w_value is w_key:
        w_value = w_query
    factor = 1 / math.sqrt(w_key.shape[1]) if scale is None else scale
    query, key, value = x @ w_query, x @ w_key, x @ w_value
    scores = np.stack([key @ row for row in query]) * x.dtype.type(factor)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = weights / weights.sum(axis=1, keepdims=True)
    output = weights @ value
    if w_output is not None:
        output = output @ w_output
    return {"output": output, "weights": weights, "scores": scores, "query": query, "key": key, "value": value}

dtypes = ("float64", "float32")
