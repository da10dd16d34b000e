import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    base.check_single(x, w_query, w_key, w_value, w_output)
    ct = base.wide(x.dtype)
    tokens = x.astype(ct)
    features = w_query.shape[0]
    if tokens.shape[0] == features:  # a token in each column
        tokens = tokens.T
    q, k, v = (np.einsum("sd,de->se", tokens, w.astype(ct)) for w in (w_query, w_key, w_value))
    scores = np.einsum("ie,je->ij", q, k) * ct.type(1 / np.sqrt(w_key.shape[1]) if scale is None else scale)
    e = np.exp(scores - scores.max(1, keepdims=True, initial=-np.inf))
    weights = e / e.sum(1)[:, None]
    out = np.einsum("ij,je->ie", weights, v)
    if w_output is not None:
        out = np.einsum("ie,ef->if", out, w_output.astype(ct))
    return {n: a.astype(x.dtype) for n, a in
            (("output", out), ("weights", weights), ("scores", scores), ("query", q), ("key", k), ("value", v))}
