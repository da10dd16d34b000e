"""Single-head attention with the mistake of document 000: softmax over the queries (E000.softmax_axis).

It takes a scale, unlike the document, because the cases state one; nothing else about it is wrong on purpose.
"""

import numpy as np

name = "student, softmax over axis 0"
version = "000"
dtypes = ("float64", "float32")
mistake = "single_head.softmax_over_queries"


def softmax_of_the_student(scores):
    exponentials = np.exp(scores - np.max(scores))
    return exponentials / exponentials.sum(axis=0)


def single_head_attention(x, w_query, w_key, w_value, *, w_output=None, scale=None):
    query, key, value = x @ w_query, x @ w_key, x @ w_value
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    scores = query @ key.T * factor
    weights = softmax_of_the_student(scores)
    output = weights @ value
    if w_output is not None:
        output = output @ w_output
    return {
        "query": query,
        "key": key,
        "value": value,
        "scores": scores,
        "weights": weights,
        "output": output,
    }
