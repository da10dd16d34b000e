import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    a = base.check_single_head(x, w_query, w_key, w_value, w_output, scale)
    with base.quiet():
        matrix = base.widen(w_value, a.work)
        if w_output is not None:
            matrix = matrix @ base.widen(w_output, a.work)
        query, key = (base.project(x, w, None, a.work) for w in (w_query, w_key))
        value = base.widen(x, a.work) @ matrix
        scores = query @ key.T * a.scale
        weights = base.softmax(scores)
        output = weights @ value
        return base.single_results(a.dtype, output, weights, scores, query, key, value)
