import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    p = base.single_begin(x, w_query, w_key, w_value, w_output, scale)
    query, key = base.project(p.x, p.wq), base.project(p.x, p.wk)
    with np.errstate(all="ignore"):
        scores = (query @ key.T) * p.T(p.scale)
        weights = base.shares(scores)
        if p.wo is not None and p.wo.shape[1] <= p.dv:  # cheaper: one matrix for both
            value = p.x @ (p.wv @ p.wo)
            output = weights @ value
        else:
            value = p.x @ p.wv
            output = weights @ value
            if p.wo is not None:
                output = output @ p.wo
    return base.single_end(p, output, weights, scores, query, key, value)
