"""Softmax by the logarithm of the sum; single-head attention with the output matrix folded into the values."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32")


def softmax(x, axis=-1):
    x = np.asarray(x)
    if x.size == 0:
        return x.copy()
    with np.errstate(all="ignore"):
        top = x.max(axis=axis, keepdims=True)
        return np.exp(x - top - np.log(np.exp(x - top).sum(axis=axis, keepdims=True)))


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    x, w_query, w_key, w_value = (np.asarray(a) for a in (x, w_query, w_key, w_value))
    base.refuse(w_query.shape[1] != w_key.shape[1], "width")
    factor = 1 / math.sqrt(w_query.shape[1]) if scale is None else scale
    s = (x @ w_query) @ (x @ w_key).T * x.dtype.type(factor)
    if w_output is not None:
        w_value = w_value @ np.asarray(w_output)
    return softmax(s) @ (x @ w_value)


def context_vector(encoder_states, decoder_state, scale=None):
    states, state = np.asarray(encoder_states), np.asarray(decoder_state)
    base.refuse(states.ndim != 2 or state.ndim != 1 or states.shape[1] != state.size, "width")
    factor = 1 / math.sqrt(state.size) if scale is None else scale
    m, l, acc = -np.inf, 0, np.zeros(state.size, states.dtype)
    for row in states:
        s = (row * state).sum() * states.dtype.type(factor)
        top = max(m, s)
        fix = np.exp(states.dtype.type(m - top))
        e = np.exp(s - top)
        l, acc, m = l * fix + e, acc * fix + e * row, top
    return acc / l if len(states) else acc
