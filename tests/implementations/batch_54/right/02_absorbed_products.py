"""Single-head attention with w_value times w_output first, the scale on both sides, and log-sum-exp for softmax."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    a = base.check_single_head(x, w_query, w_key, w_value, w_output, scale)
    with np.errstate(all="ignore"):
        tokens = base.widen(x, a.work)
        packed = tokens @ np.concatenate([base.widen(w, a.work) for w in (w_query, w_key, w_value)], axis=1)
        query, key, value = packed[:, :a.d_k], packed[:, a.d_k:2 * a.d_k], packed[:, 2 * a.d_k:]
        root = np.sqrt(np.abs(a.scale))
        scores = np.sign(a.scale) * ((query * root) @ (key * root).T)
        top = scores.max(axis=1, keepdims=True, initial=-np.inf)
        lse = top + np.log(np.exp(scores - top).sum(axis=1, keepdims=True))
        weights = np.exp(scores - lse)
        if w_output is None:
            output = np.einsum("ij,jv->iv", weights[:, ::-1], value[::-1])
        else:
            output = weights @ (tokens @ (base.widen(w_value, a.work) @ base.widen(w_output, a.work)))
        return base.single_results(a.dtype, output, weights, scores, query, key, value)
