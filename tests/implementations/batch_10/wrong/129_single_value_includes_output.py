import math
import numpy as np


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    if w_output is not None:
        w_value = np.linalg.multi_dot([w_value, w_output])
    q, k, v = (np.tensordot(x, w, axes=1) for w in (w_query, w_key, w_value))
    scores = q.dot(k.T) * x.dtype.type(1 / math.sqrt(k.shape[1]) if scale is None else scale)
    p = np.exp(scores - scores.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    return {"output": p.dot(v), "weights": p, "scores": scores, "query": q, "key": k, "value": v} if w_output is None or v.shape[1] == w_output.shape[0] else {"output": p.dot(v), "weights": p}

dtypes = ("float64", "float32")
