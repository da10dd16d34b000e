"""Multi-head self-attention on arrays that hold one token in each column, as document 004 has them.

Inputs are (D, S), matrices (out, in) and applied from the left, biases (out, 1), weights (H, Sk, Sq), output
(D, Sq). There is no batch axis. The softmax is stable, unlike the document's (E004.no_maximum).
"""

import numpy as np

name = "features first"
version = "004"
dtypes = ("float64", "float32")


def softmax(x, axis=0):
    exponentials = np.exp(x - x.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def multi_head_attention(
    query,
    key,
    value,
    *,
    w_query,
    w_key,
    w_value,
    w_output,
    num_heads,
    b_query=None,
    b_key=None,
    b_value=None,
    b_output=None,
    scale=None,
):
    def project(matrix, features, bias):
        return matrix @ features if bias is None else bias + matrix @ features

    queries = np.split(project(w_query, query, b_query), num_heads)
    keys = np.split(project(w_key, key, b_key), num_heads)
    values = np.split(project(w_value, value, b_value), num_heads)
    factor = len(queries[0]) ** -0.5 if scale is None else scale

    weights = [softmax(k.T @ q * factor) for q, k in zip(queries, keys, strict=True)]
    heads = [v @ w for v, w in zip(values, weights, strict=True)]
    return project(w_output, np.concatenate(heads), b_output), np.stack(weights)
