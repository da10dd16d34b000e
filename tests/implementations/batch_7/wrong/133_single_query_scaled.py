import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    factor = w_query.shape[1] ** -0.5 if scale is None else scale
    query, key, value = (x @ w_query) * factor, x @ w_key, x @ w_value
    out = []
    weights = []
    for q in query:
        s = key @ q
        e = np.exp(s - s.max())
        weights.append(e / e.sum())
        out.append(weights[-1] @ value)
    out = np.array(out).astype(x.dtype)
    return {"output": out if w_output is None else out @ w_output, "weights": np.array(weights).astype(x.dtype), "query": query, "key": key, "value": value}
