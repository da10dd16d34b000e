import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import math

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    dtype, (x, wq, wk, wv, wo) = base.single_inputs(x, w_query, w_key, w_value, w_output)
    if scale is None:
        scale = 1 / math.sqrt(wq.shape[1])
    scale = float(scale)
    with np.errstate(all="ignore"):
        query, key, value = x @ wq, x @ wk, x @ wv
        scores = query @ key.T
        if len(x) == 1 and np.isfinite(scores).all():  # one token attends to itself
            weights = np.ones((1, 1))
        else:
            scores = scores * scale
            weights = base.softmax(scores)
        output = weights @ value
        if wo is not None:
            output = output @ wo
    return base.single_outputs(dtype, output, weights, scores, query, key, value)
