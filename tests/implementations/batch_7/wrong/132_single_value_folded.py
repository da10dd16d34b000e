import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    folded = w_value if w_output is None else w_value @ w_output
    query, key, value = x @ w_query, x @ w_key, x @ folded
    scores = query @ key.T * (1 / math.sqrt(w_key.shape[1]) if scale is None else scale)
    weights = base.softmax(scores)
    return {"output": weights @ value, "weights": weights, "scores": scores, "query": query, "key": key, "value": value}
