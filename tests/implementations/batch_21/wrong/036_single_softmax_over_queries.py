import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.FOUR


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    base.check_single(x, w_query, w_key, w_value, w_output)
    t = base.up(x)
    q, k, v = t @ base.up(w_query), t @ base.up(w_key), t @ base.up(w_value)
    scores = q @ k.T * (1 / np.sqrt(k.shape[1]) if scale is None else scale)
    weights = np.exp(scores - scores.max(axis=0, initial=-np.inf))
    weights = weights / weights.sum(axis=0)
    output = weights @ v
    if w_output is not None:
        output = output @ base.up(w_output)
    return {"output": base.down(output, x.dtype), "weights": base.down(weights, x.dtype)}
