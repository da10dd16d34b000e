import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import check_single

dtypes = ("float64", "float32")



def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    check_single(x, w_query, w_key, w_value, w_output)
    tokens = len(x)
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    factor = float(scale or q.shape[1] ** -0.5)
    out, maps, all_scores = [], [], []
    for i in range(tokens):
        s = np.array([q[i] @ k[j] for j in range(tokens)], x.dtype) * factor
        w = np.exp(s - s.max())
        w = w / w.sum()
        maps.append(w)
        all_scores.append(s)
        o = sum(w[j] * v[j] for j in range(tokens))
        out.append(o if w_output is None else o @ w_output)
    return {"output": np.array(out), "weights": np.array(maps), "scores": np.array(all_scores)}
