import math

import numpy as np


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    real = np.float64 if x.dtype == np.float64 else np.float32
    tokens = x.astype(real)
    query, key, value = (tokens @ w.astype(real) for w in (w_query, w_key, w_value))
    factor = real(1 / math.sqrt(key.shape[1]) if scale is None else scale)
    scores = query @ key.T * factor
    weights = np.exp(scores - scores.max(axis=0))
    weights /= np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(real).tiny)
    output = weights @ value
    if w_output is not None:
        output = output @ w_output.astype(real)
    outputs = {"output": output, "weights": weights, "scores": scores, "query": query, "key": key, "value": value}
    return {name: y.astype(x.dtype) for name, y in outputs.items()}

dtypes = ("float64", "float32")
