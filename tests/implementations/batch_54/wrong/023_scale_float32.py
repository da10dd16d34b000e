import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    a = base.check_single_head(x, w_query, w_key, w_value, w_output, scale)
    with base.quiet():
        query, key, value = (base.project(x, w, None, a.work) for w in (w_query, w_key, w_value))
        factor = np.float32(1) / np.sqrt(np.float32(a.d_k)) if scale is None else scale
        scores = query @ key.T * a.work.type(factor)
        weights = base.softmax(scores)
        output = weights @ value
        if w_output is not None:
            output = output @ base.widen(w_output, a.work)
        return base.single_results(a.dtype, output, weights, scores, query, key, value)
