import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import math

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    dtype, (x, wq, wk, wv, wo) = base.single_inputs(x, w_query, w_key, w_value, w_output)
    with np.errstate(all="ignore"):
        query, key, value = x @ wq, x @ wk, x @ wv
        left, right = query, key
        if wq.shape[1] > x.shape[1]:  # wide heads: one small matrix between the tokens
            left, right = x @ (wq @ wk.T), x
        scores = left @ right.T * (1 / math.sqrt(left.shape[1]) if scale is None else float(scale))
        weights = base.softmax(scores)
        output = weights @ value
        if wo is not None:
            output = output @ wo
    return base.single_outputs(dtype, output, weights, scores, query, key, value)
