import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    p = base.single_begin(x, w_query, w_key, w_value, w_output, scale)
    query, key, value = base.project(p.x, p.wq), base.project(p.x, p.wk), base.project(p.x, p.wv)
    with np.errstate(all="ignore"):
        scores = (query @ key.T) * p.T(p.scale)
        weights = base.shares(scores)
        if p.wo is None:
            output = weights @ value
        else:
            fused = (p.wv @ p.wo).astype(x.dtype)
            output = (weights @ p.x) @ fused.astype(p.T)
    return base.single_end(p, output, weights, scores, query, key, value)
