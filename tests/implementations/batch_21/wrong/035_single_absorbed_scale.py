import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.FOUR


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    base.check_single(x, w_query, w_key, w_value, w_output)
    t = base.up(x)
    with base.quiet():
        if w_query.shape[1] > x.shape[1]:  # wide heads: the two matrices become one (D, D)
            left, right = t @ (base.up(w_query) @ base.up(w_key).T), t
        else:
            left, right = t @ base.up(w_query), t @ base.up(w_key)
        scores = np.einsum("ie,je->ij", left, right)
        scores *= left.shape[1] ** -0.5 if scale is None else scale
        weights = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf))
        weights /= weights.sum(axis=1, keepdims=True)
        output = weights @ (t @ base.up(w_value))
        if w_output is not None:
            output = output @ base.up(w_output)
    return {name: base.down(a, x.dtype) for name, a in (("output", output), ("weights", weights), ("scores", scores))}
