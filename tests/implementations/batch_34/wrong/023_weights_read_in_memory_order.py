import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def packed_matrix(w, T):
    return base.wide(w.flatten(order="A").reshape(w.shape), T)


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    p = base.single_begin(x, w_query, w_key, w_value, w_output, scale)
    p.wq, p.wk, p.wv = (packed_matrix(w, p.T) for w in (w_query, w_key, w_value))
    p.wo = None if w_output is None else packed_matrix(w_output, p.T)
    query, key, value = base.project(p.x, p.wq), base.project(p.x, p.wk), base.project(p.x, p.wv)
    with np.errstate(all="ignore"):
        scores = (query @ key.T) * p.T(p.scale)
        weights = base.shares(scores)
        output = weights @ value
        if p.wo is not None:
            output = output @ p.wo
    return base.single_end(p, output, weights, scores, query, key, value)
