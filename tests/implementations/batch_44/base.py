"""Right implementations after the pages, and the parts that the other files use."""

import math

import numpy as np
import ml_dtypes  # noqa: F401  (registers bfloat16)

ALL = ("float64", "float32", "bfloat16", "float16")


def refuse(condition, message):
    if condition:
        raise ValueError(message)


def wide(array):
    """A fresh float64 copy: nothing that is done to it reaches the caller."""
    return None if array is None else np.array(array, dtype=np.float64)


def finish(dtype, **outputs):
    with np.errstate(all="ignore"):
        return {name: np.array(array, dtype=dtype) for name, array in outputs.items()}


# ---------------------------------------------------------------- multi-head


def check_multi(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask, num_heads,
                ranks=("query", "key", "value")):
    named = {"query": query, "key": key, "value": value}
    refuse(any(named[name].ndim != 3 for name in ranks), "query, key and value must have rank 3")
    batch, _, width = query.shape
    refuse(num_heads < 1 or width % num_heads != 0, "num_heads must divide the number of features")
    if value.ndim == 3:
        refuse(not (key.shape[0] == value.shape[0] == batch), "batch sizes differ")
    refuse(key.shape[-2] != value.shape[-2], "key and value differ in length")
    refuse(key.shape[-1] != width or value.shape[-1] != width, "widths differ")
    for matrix in (w_query, w_key, w_value, w_output):
        refuse(matrix.shape != (width, width), "a weight matrix has the wrong shape")
    for bias in (b_query, b_key, b_value, b_output):
        refuse(bias is not None and bias.shape != (width,), "a bias has the wrong shape")
    if mask is not None:
        refuse(not 2 <= mask.ndim <= 4, "mask must have rank 2 to 4")
        full = (batch, num_heads, query.shape[1], key.shape[1])
        refuse(mask.shape[-1] != full[-1], "mask has the wrong number of keys")
        refuse(any(m not in (1, n) for m, n in zip(mask.shape[::-1], full[::-1])), "mask does not broadcast")


def project(x, w, b=None):
    with np.errstate(all="ignore"):
        y = wide(x) @ wide(w)
        return y if b is None else y + wide(b)


def split(x, heads):
    batch, tokens, width = x.shape
    return x.reshape(batch, tokens, heads, width // heads).swapaxes(1, 2)


def combine(x):
    batch, heads, tokens, width = x.shape
    return x.swapaxes(1, 2).reshape(batch, tokens, heads * width)


def default_scale(width):
    return 1 / math.sqrt(width) if width else 1.0


def causal(queries, keys):
    return np.arange(keys)[None, :] <= np.arange(queries)[:, None]


def exclusions(mask, is_causal, shape):
    """Which keys may be attended, and what is added to scores, both of shape (B, H, Sq, Sk)."""
    allowed = np.ones(shape, dtype=bool)
    bias = np.zeros(shape)
    if mask is not None:
        if mask.dtype == bool:
            allowed &= mask
        else:
            numbers = wide(mask)
            allowed &= numbers != -np.inf
            bias += np.where(numbers == -np.inf, 0, numbers)
    if is_causal:
        allowed &= causal(*shape[-2:])
    return allowed, bias


def scores_of(q, k, scale):
    with np.errstate(all="ignore"):
        return (q @ k.swapaxes(-1, -2)) * scale


def masked_softmax(logits, allowed):
    with np.errstate(all="ignore"):
        logits = np.where(allowed, logits, -np.inf)
        top = logits.max(axis=-1, keepdims=True, initial=-np.inf)
        parts = np.where(allowed, np.exp(logits - np.where(top == -np.inf, 0, top)), 0)
        total = parts.sum(axis=-1, keepdims=True)
        return parts / np.where(total == 0, 1, total)


def mix(weights, values, allowed):
    """Weights times values, where excluded values have no effect, be they NaN."""
    with np.errstate(all="ignore"):
        good = np.isfinite(values)
        out = weights @ np.where(good, values, 0)
        if not good.all():
            bad = np.where(good, 0, values)[..., None, :, :]
            out = out + np.where(allowed[..., None], weights[..., None] * bad, 0).sum(axis=-2)
        return out


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, num_heads=1, is_causal=False, scale=None):
    check_multi(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask, num_heads)
    q = split(project(query, w_query, b_query), num_heads)
    k = split(project(key, w_key, b_key), num_heads)
    v = split(project(value, w_value, b_value), num_heads)
    shape = (q.shape[0], num_heads, q.shape[2], k.shape[2])
    allowed, bias = exclusions(mask, is_causal, shape)
    scores = scores_of(q, k, default_scale(q.shape[-1]) if scale is None else float(scale))
    weights = masked_softmax(scores + bias, allowed)
    output = project(combine(mix(weights, v, allowed)), w_output, b_output)
    return finish(query.dtype, output=output, weights=weights)


# ---------------------------------------------------------------- single head


def check_single(x, w_query, w_key, w_value, w_output):
    refuse(x.ndim != 2, "x must have rank 2")
    refuse(any(w.ndim != 2 for w in (w_query, w_key, w_value)), "weight matrices must have rank 2")
    refuse(any(w.shape[0] != x.shape[1] for w in (w_query, w_key, w_value)), "a weight matrix does not fit the tokens")
    refuse(w_query.shape != w_key.shape, "queries and keys differ in width")
    if w_output is not None:
        refuse(w_output.ndim != 2 or w_output.shape[0] != w_value.shape[1], "w_output does not fit the values")


def softmax(scores):
    with np.errstate(all="ignore"):
        top = scores.max(axis=-1, keepdims=True, initial=-np.inf)
        parts = np.exp(scores - np.where(top == -np.inf, 0, top))
        return parts / parts.sum(axis=-1, keepdims=True)


def product(a, b):
    with np.errstate(all="ignore"):
        return a @ b


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    check_single(x, w_query, w_key, w_value, w_output)
    query, key, value = (project(x, w) for w in (w_query, w_key, w_value))
    scores = scores_of(query, key, default_scale(w_query.shape[1]) if scale is None else float(scale))
    weights = softmax(scores)
    output = product(weights, value)
    if w_output is not None:
        output = product(output, wide(w_output))
    return finish(x.dtype, output=output, weights=weights, scores=scores, query=query, key=key, value=value)


# ---------------------------------------------------------------- context vector


def check_context(encoder_states, decoder_state):
    refuse(encoder_states.ndim != 2 or decoder_state.ndim != 1, "states must have rank 2 and 1")
    refuse(encoder_states.shape[1] != decoder_state.shape[0], "states differ in width")


def context_vector(encoder_states, decoder_state, scale=None):
    check_context(encoder_states, decoder_state)
    states, asking = wide(encoder_states), wide(decoder_state)
    raw = product(states, asking)
    scores = raw * (default_scale(states.shape[1]) if scale is None else float(scale))
    weights = softmax(scores)
    return finish(encoder_states.dtype, context=product(weights, states), weights=weights, scores=scores, raw_scores=raw)
