import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import check_single

dtypes = ("float64", "float32")



def linear(x, w):
    """Weights stored either way round: (in, out) or (out, in)."""
    return x @ w.T if w.shape[1] == x.shape[1] else x @ w


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    check_single(x, w_query, w_key, w_value, w_output)
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    scores = np.einsum("ie,je->ij", q, k) * (1 / float(np.sqrt(q.shape[1])) if scale is None else float(scale))
    z = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
    weights = z / z.sum(axis=-1, keepdims=True)
    mixed = np.einsum("ij,je->ie", weights, v)
    return mixed if w_output is None else linear(mixed, w_output)
