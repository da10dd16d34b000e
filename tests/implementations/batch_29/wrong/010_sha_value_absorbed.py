import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    base.check_single(x, w_query, w_key, w_value, w_output)
    ct = base.wide(x.dtype)
    tokens = x.astype(ct)
    w_v = w_value.astype(ct)
    w_o = None if w_output is None else w_output.astype(ct)
    if w_o is not None and w_o.shape[1] < w_v.shape[1]:  # fewer columns to weigh
        w_v, w_o = w_v @ w_o, None
    S = len(tokens)
    q, k, v = tokens @ w_query.astype(ct), tokens @ w_key.astype(ct), tokens @ w_v
    factor = ct.type(w_query.shape[1] ** -0.5 if scale is None else scale)
    scores = np.zeros((S, S), ct)
    weights = np.zeros((S, S), ct)
    out = np.zeros((S, v.shape[1]), ct)
    for i in range(S):
        scores[i] = (k @ q[i]) * factor
        e = np.exp(scores[i] - scores[i].max())
        weights[i] = e / e.sum()
        out[i] = weights[i] @ v
    if w_o is not None:
        out = out @ w_o
    return {n: a.astype(x.dtype) for n, a in
            (("output", out), ("weights", weights), ("scores", scores), ("query", q), ("key", k), ("value", v))}
