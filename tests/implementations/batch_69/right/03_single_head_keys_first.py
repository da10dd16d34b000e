import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math

import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def product(left, right):
    """A matrix product as a sum of outer products, last feature first."""
    total = np.zeros((left.shape[0], right.shape[1]), left.dtype)
    for d in reversed(range(left.shape[1])):
        total += np.multiply.outer(left[:, d], right[d])
    return total


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    arrays = [None if a is None else np.asarray(a) for a in (x, w_query, w_key, w_value, w_output)]
    base.check_single(*arrays)
    dtype = arrays[0].dtype
    kind = base.carrier(dtype)
    x, wq, wk, wv, wo = (None if a is None else np.asfortranarray(a.astype(kind)) for a in arrays)
    scale = kind(1 / math.sqrt(wq.shape[1]) if scale is None else scale)
    with np.errstate(all="ignore"):
        query, key, value = product(x, wq), product(x, wk), product(x, wv)
        scores = product(key, query.T) * scale  # keys are rows here
        top = scores.max(axis=0, initial=-np.inf)
        log_total = np.log(np.exp(scores - top).sum(axis=0))
        weights = np.exp(scores - top - log_total)
        given = value if wo is None else product(x, product(wv, wo))
        output = np.zeros((len(x), given.shape[1]), kind)
        for j in reversed(range(len(x))):
            output += np.multiply.outer(weights[j], given[j])
    return base.single_outputs(dtype, output, weights.T, scores.T, query, key, value)
