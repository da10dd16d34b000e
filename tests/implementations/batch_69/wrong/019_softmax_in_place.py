import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import math

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def shares(scores):
    carried = scores.astype(np.float64, copy=False)
    with np.errstate(all="ignore"):
        carried -= carried.max(axis=-1, keepdims=True, initial=-np.inf)
        carried = np.exp(carried)
        return carried / carried.sum(axis=-1, keepdims=True)


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    dtype, (x, wq, wk, wv, wo) = base.single_inputs(x, w_query, w_key, w_value, w_output)
    if scale is None:
        scale = 1 / math.sqrt(wq.shape[1])
    scale = float(scale)
    kind = base.carrier(dtype)
    with np.errstate(all="ignore"):
        query, key, value = x @ wq, x @ wk, x @ wv
        scores = (query @ key.T * scale).astype(kind)
        weights = shares(scores)
        output = weights @ value
        if wo is not None:
            output = output @ wo
    return base.single_outputs(dtype, output, weights, scores, query, key, value)
