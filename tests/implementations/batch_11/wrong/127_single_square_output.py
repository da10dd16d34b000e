"""Single head attention, written out."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32")


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    x, w_query, w_key, w_value = (np.asarray(a) for a in (x, w_query, w_key, w_value))
    base.refuse(any(w.ndim != 2 or w.shape[0] != x.shape[-1] for w in (w_query, w_key, w_value)) or x.ndim != 2, "shape")
    base.refuse(w_query.shape[1] != w_key.shape[1], "width")
    query, key, value = np.split(x @ np.hstack([w_query, w_key, w_value]), np.cumsum([w_query.shape[1]] * 2), 1)
    factor = x.dtype.type(1 / math.sqrt(w_query.shape[1]) if scale is None else scale)
    scores = np.einsum("ie,je->ij", query, key) * factor
    weights = base.softmax(scores)
    mixed = weights @ value
    output = mixed if w_output is None else mixed @ (np.asarray(w_output).T if w_output.shape[0] == w_output.shape[1] else np.asarray(w_output))
    return output
