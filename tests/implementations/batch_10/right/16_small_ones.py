"""Small operations, each in another way than the page: index arithmetic, gather, association of products."""
import math
import numpy as np


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    n = query_length if key_length is None else key_length
    out = np.zeros((query_length, n), bool)
    for i in range(query_length):
        out[i, :max(0, i + offset + 1)] = True
    return np.where(out, np.float32(0), np.float32(-np.inf)) if additive else out


def split_heads(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError("num_heads")
    return np.stack(np.split(x, num_heads, axis=-1), axis=1)


def combine_heads(x):
    return np.concatenate([x[:, h] for h in range(x.shape[1])], axis=-1)


def context_vector(encoder_states, decoder_state, scale=None):
    if encoder_states.shape[-1] != decoder_state.shape[0]:
        raise ValueError("width")
    if scale is None:
        scale = decoder_state.shape[0] ** -0.5
    m, z, c = -np.inf, 0.0, np.zeros_like(decoder_state)
    for row in encoder_states:
        s = float(np.sum(row * decoder_state)) * scale
        new = max(m, s)
        a, p = math.exp(m - new), math.exp(s - new)
        z, c, m = z * a + p, c * decoder_state.dtype.type(a) + row * decoder_state.dtype.type(p), new
    return (c / z).astype(encoder_states.dtype)


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    scale = w_key.shape[1] ** -0.5 if scale is None else scale
    s = x @ (w_query @ w_key.T) @ x.T * x.dtype.type(scale)
    w = np.exp(s - s.max(axis=1)[:, None])
    w /= w.sum(axis=1)[:, None]
    v = w_value if w_output is None else w_value @ w_output
    return {"output": (w @ x) @ v, "weights": w}

dtypes = ("float64", "float32")
