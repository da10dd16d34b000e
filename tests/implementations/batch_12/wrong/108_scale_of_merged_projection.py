import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import check_single

dtypes = ("float64", "float32")



def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    check_single(x, w_query, w_key, w_value, w_output)
    form = w_query @ w_key.T                      # one bilinear form for query and key
    scores = x @ form @ x.T * (form.shape[0] ** -0.5 if scale is None else float(scale))
    e = np.exp(scores - scores.max(1, keepdims=True, initial=-np.inf))
    weights = e / e.sum(1, keepdims=True)
    output = weights @ (x @ w_value)
    return {"output": output if w_output is None else output @ w_output, "weights": weights, "scores": scores}
