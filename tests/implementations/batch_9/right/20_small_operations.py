"""The small operations in other words."""
import math

import numpy as np


def softmax(x, axis=-1):
    if axis is None:
        return softmax(x.reshape(-1), 0).reshape(x.shape)
    w = x.astype(np.float64 if x.dtype == np.float64 else np.float32)
    low = w - np.max(w, axis=axis, keepdims=True)
    return np.exp(low - np.log(np.sum(np.exp(low), axis=axis, keepdims=True))).astype(x.dtype)


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = query_length if key_length is None else key_length
    rows = [[j <= i + offset for j in range(key_length)] for i in range(query_length)]
    allow = np.array(rows, bool).reshape(query_length, key_length)
    if not additive:
        return allow
    return np.where(allow, np.float32(0), np.float32(-np.inf))


def split_heads(x, num_heads):
    if x.shape[2] % num_heads:
        raise ValueError("heads")
    return np.stack(np.split(x, num_heads, axis=2), axis=1)


def combine_heads(x):
    return np.concatenate([x[:, h] for h in range(x.shape[1])], axis=-1)


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    real = np.float64 if x.dtype == np.float64 else np.float32
    t = x.astype(real)
    q, k, v = t @ w_query.astype(real), t @ w_key.astype(real), t @ w_value.astype(real)
    scores = np.einsum("ie,je->ij", q, k) * real(1 / math.sqrt(q.shape[1]) if scale is None else scale)
    weights = softmax(scores)
    mixed = v if w_output is None else v @ w_output.astype(real)
    return {"output": (weights @ mixed).astype(x.dtype), "weights": weights.astype(x.dtype), "value": v.astype(x.dtype)}


def context_vector(encoder_states, decoder_state, scale=None):
    if encoder_states.shape[1] != len(decoder_state):
        raise ValueError("width")
    real = np.float64 if encoder_states.dtype == np.float64 else np.float32
    h = encoder_states.astype(real)
    scores = (h @ decoder_state.astype(real)) * real(len(decoder_state) ** -0.5 if scale is None else scale)
    e = np.exp(scores - scores.max())
    return ((e[:, None] * h).sum(axis=0) / e.sum()).astype(encoder_states.dtype)


def glorot_normal(fan_in, fan_out, seed):
    return np.random.RandomState(seed % 2 ** 32).randn(fan_in, fan_out) * (2 / (fan_in + fan_out)) ** 0.5

dtypes = ("float64", "float32")
