"""The smaller operations: views where views do, read-only results, base 2, another order of products."""

import hashlib
import math

import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")

HALF_LOG2E = 0.5 / math.log(2)


def _carried(x):
    return x.astype(np.float64 if x.dtype == np.float64 else np.float32)


def softmax(x, axis=-1):
    y = _carried(x) * HALF_LOG2E  # half of it, which never overflows
    if y.size == 0:
        return np.zeros(x.shape, x.dtype)
    with np.errstate(over="ignore", under="ignore"):
        e = np.exp2(2 * (y - y.max(axis=axis, keepdims=True)))
        return np.asarray(e / e.sum(axis=axis, keepdims=True)).astype(x.dtype)


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = query_length if key_length is None else key_length
    if query_length == 0 or key_length == 0:
        return np.zeros((query_length, key_length), np.float32 if additive else bool)
    # a band: element [i, j] is number j - i + query_length - 1 of one line
    line = np.arange(query_length + key_length - 1) - (query_length - 1) <= offset
    if additive:
        line = np.where(line, np.float32(0), np.float32(-np.inf))
    return np.lib.stride_tricks.sliding_window_view(line, key_length)[::-1]


def split_heads(x, num_heads):
    batch, tokens, features = x.shape
    if num_heads < 1 or features % num_heads:
        raise ValueError("the heads do not divide the features")
    return x.reshape(batch, tokens, num_heads, features // num_heads).swapaxes(1, 2)


def combine_heads(x):
    batch, heads, tokens, width = x.shape
    joined = np.moveaxis(x, 1, 2).reshape(batch, tokens, heads * width)
    joined = joined.view()
    joined.flags.writeable = False
    return joined


def context_vector(encoder_states, decoder_state, scale=None):
    if encoder_states.shape[1] != decoder_state.shape[0]:
        raise ValueError("features differ")
    states, state = _carried(encoder_states), _carried(decoder_state)
    raw = (states * state).sum(axis=1)
    scores = raw * (state.shape[0] ** -0.5 if scale is None else scale)
    shares = np.exp(scores - scores.max(initial=-np.inf))
    weights = shares / shares.sum()
    context = np.einsum("je,j->e", states, weights)
    return {
        "context": context.astype(encoder_states.dtype), "weights": weights, "scores": scores, "raw_scores": raw,
    }


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    tokens, wq, wk, wv = (_carried(t) for t in (x, w_query, w_key, w_value))
    query, key = tokens @ wq, tokens @ wk
    scores = query @ key.T * (1 / math.sqrt(wq.shape[1]) if scale is None else scale)
    e = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf))
    weights = e / e.sum(axis=1, keepdims=True)
    if w_output is not None:
        wv = wv @ _carried(w_output)
    output = (weights @ tokens) @ wv
    return {"output": output.astype(x.dtype), "weights": weights, "scores": scores}


def glorot_normal(fan_in, fan_out, seed):
    """Counters through a mixer (splitmix64), then Box and Muller."""
    count = fan_in * fan_out
    start = np.uint64(int.from_bytes(hashlib.sha256(str(int(seed)).encode()).digest()[:8], "little"))
    with np.errstate(over="ignore"):
        z = start + (np.arange(1, 2 * count + 1, dtype=np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    uniform = ((z >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    normal = np.sqrt(-2 * np.log(uniform[:count])) * np.cos(2 * math.pi * uniform[count:])
    return (normal * math.sqrt(2 / (fan_in + fan_out))).reshape(fan_in, fan_out)
