import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    d = w_query.shape[1]
    fused = x @ np.concatenate([w_query, w_key, w_value], axis=1)
    query, key = fused[:, :d], fused[:, d:2 * d]
    value = np.zeros((len(x), w_value.shape[1]), x.dtype)
    third = fused[:, 2 * d:3 * d]
    value[:, :third.shape[1]] = third
    scores = query @ key.T * (1 / math.sqrt(d) if scale is None else scale)
    out = base.softmax(scores) @ value
    return out if w_output is None else out @ w_output
