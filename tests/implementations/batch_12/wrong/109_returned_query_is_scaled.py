import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import check_single

dtypes = ("float64", "float32")



def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    check_single(x, w_query, w_key, w_value, w_output)
    query, key, value = x @ w_query, x @ w_key, x @ w_value
    query *= query.shape[1] ** -0.5 if scale is None else scale
    scores = query @ key.T
    weights = np.zeros_like(scores)
    for i, row in enumerate(scores):
        row = np.exp(row - row.max(initial=-np.inf))
        weights[i] = row / row.sum()
    output = weights @ value
    if w_output is not None:
        output = output @ w_output
    return {"output": output, "weights": weights, "scores": scores, "query": query, "key": key, "value": value}
