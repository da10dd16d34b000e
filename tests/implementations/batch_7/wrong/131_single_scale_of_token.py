import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    similarity = w_query @ w_key.T
    scores = np.einsum("ia,ab,jb->ij", x, similarity, x) * (1 / math.sqrt(similarity.shape[0]) if scale is None else scale)
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = e / e.sum(axis=1, keepdims=True)
    out = weights @ (x @ w_value)
    return out if w_output is None else out @ w_output
