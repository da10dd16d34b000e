import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = base.DTYPES


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    base.check_single(x, w_query, w_key, w_value, w_output)
    dtype = x.dtype
    q, k, v = (base.project(x, matrix, None, dtype) for matrix in (w_query, w_key, w_value))
    scale = base.the_scale(scale, q.shape[1], dtype)
    with np.errstate(all="ignore"):
        scores = base.dots(q, k) * scale
        # no score is larger than the product of the lengths, so no pass over the scores is needed to find the top
        longest = np.sqrt((k * k).sum(axis=1).max(initial=0))
        bound = np.abs(scale) * np.sqrt((q * q).sum(axis=1, keepdims=True)) * longest
        exponentials = np.exp(scores - bound)
        weights = (exponentials / exponentials.sum(axis=1, keepdims=True)).astype(q.dtype)
        output = weights @ v
    if w_output is not None:
        output = base.project(output, w_output, None, dtype)
    return base.single_result(output, weights, scores, q, k, v, dtype)
