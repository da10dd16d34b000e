"""Right implementations after the pages, and the parts that the other files use."""
import types

import ml_dtypes
import numpy as np

FLOATS = (np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
quiet = np.errstate(all="ignore")


def wide_of(dtype):
    return np.dtype(np.float64) if np.dtype(dtype) == np.float64 else np.dtype(np.float32)


def need(condition, text):
    if not condition:
        raise ValueError(text)


def rounded(array, dtype):
    with np.errstate(all="ignore"):
        return np.array(array, copy=True).astype(dtype)


# --- softmax over keys and weighted values -------------------------------------------------------------------------

def shares(logits, allowed):
    """Softmax over the last axis of what is allowed; rows with nothing allowed are zero."""
    with np.errstate(all="ignore"):
        top = np.max(np.where(allowed, logits, -np.inf), axis=-1, keepdims=True, initial=-np.inf)
        top = np.where(top == -np.inf, 0, top).astype(logits.dtype)
        powers = np.where(allowed, np.exp(logits - top), 0).astype(logits.dtype)
        total = powers.sum(axis=-1, keepdims=True)
        total = np.where(allowed.any(axis=-1, keepdims=True), total, 1).astype(logits.dtype)
        return np.where(allowed, powers / total, 0).astype(logits.dtype)


def weigh(weights, value, allowed):
    with np.errstate(all="ignore"):
        if np.isfinite(value).all():
            return weights @ value
        parts = weights[..., None] * value[..., None, :, :]
        return np.where(allowed[..., None], parts, 0).sum(axis=-2).astype(value.dtype)


def attend(query, key, value, allowed, bias, scale):
    with np.errstate(all="ignore"):
        logits = (query @ key.swapaxes(-1, -2)) * query.dtype.type(scale)
        if bias is not None:
            logits = logits + bias
    weights = shares(logits, allowed)
    return weigh(weights, value, allowed), weights


# --- multi-head ----------------------------------------------------------------------------------------------------

def prepare(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None, b_output=None,
            mask=None, num_heads=1, scale=None):
    for array in (query, key, value):
        need(np.ndim(array) == 3, "query, key and value have rank 3")
    batch, n_query, width = query.shape
    need(key.shape == value.shape, "key and value differ in shape")
    need(key.shape[0] == batch and key.shape[2] == width, "query and key do not fit together")
    need(int(num_heads) >= 1 and width % int(num_heads) == 0, "the heads do not divide the features")
    for matrix in (w_query, w_key, w_value, w_output):
        need(matrix.shape == (width, width), "weight matrices are (D, D)")
    for vector in (b_query, b_key, b_value, b_output):
        need(vector is None or vector.shape == (width,), "biases are (D,)")
    heads, n_key = int(num_heads), key.shape[1]
    if mask is not None:
        need(2 <= mask.ndim <= 4, "a mask has rank 2 to 4")
        need(mask.shape[-1] == n_key, "the mask has another number of keys")
        for have, want in zip(mask.shape[::-1], (n_key, n_query, heads, batch)):
            need(have in (1, want), "the mask does not broadcast")
    dtype = query.dtype
    wide = wide_of(dtype)

    def w(array):
        return None if array is None else np.array(array).astype(wide)

    size = width // heads
    return types.SimpleNamespace(
        dtype=dtype, wide=wide, B=batch, H=heads, Sq=n_query, Sk=n_key, D=width, E=size,
        query=w(query), key=w(key), value=w(value),
        w_query=w(w_query), w_key=w(w_key), w_value=w(w_value), w_output=w(w_output),
        b_query=w(b_query), b_key=w(b_key), b_value=w(b_value), b_output=w(b_output),
        scale=1 / np.sqrt(size) if scale is None else float(scale))


def project(tokens, matrix, bias):
    with np.errstate(all="ignore"):
        product = tokens @ matrix
        return product if bias is None else product + bias


def split(x, heads):
    batch, tokens, width = x.shape
    return x.reshape(batch, tokens, heads, width // heads).swapaxes(1, 2)


def combine(x):
    batch, heads, tokens, size = x.shape
    return x.swapaxes(1, 2).reshape(batch, tokens, heads * size)


def projected(c):
    return (split(project(c.query, c.w_query, c.b_query), c.H), split(project(c.key, c.w_key, c.b_key), c.H),
            split(project(c.value, c.w_value, c.b_value), c.H))


def causal_of(n_query, n_key):
    return np.arange(n_key)[None, :] <= np.arange(n_query)[:, None]


def permitted(c, mask, is_causal):
    """(what may be attended, what is added), both (B, H, Sq, Sk); what is added may be None."""
    shape = (c.B, c.H, c.Sq, c.Sk)
    allowed, bias = np.ones(shape, bool), None
    if mask is not None:
        if mask.dtype == bool:
            allowed &= np.broadcast_to(mask, shape)
        else:
            bias = np.broadcast_to(np.array(mask).astype(c.wide), shape)
            allowed &= bias != -np.inf
    if is_causal:
        allowed &= causal_of(c.Sq, c.Sk)
    return allowed, bias


def finish(c, heads, weights):
    output = project(combine(heads), c.w_output, c.b_output)
    return {"output": rounded(output, c.dtype), "weights": rounded(weights, c.dtype)}


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, num_heads=1, is_causal=False, scale=None):
    c = prepare(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask,
                num_heads, scale)
    allowed, bias = permitted(c, mask, is_causal)
    heads, weights = attend(*projected(c), allowed, bias, c.scale)
    return finish(c, heads, weights)


# --- single head ---------------------------------------------------------------------------------------------------

def prepare_single(x, w_query, w_key, w_value, w_output=None, scale=None):
    for array in (x, w_query, w_key, w_value):
        need(np.ndim(array) == 2, "tokens and weight matrices have rank 2")
    for matrix in (w_query, w_key, w_value):
        need(matrix.shape[0] == x.shape[1], "a weight matrix has another number of rows than the tokens have features")
    need(w_query.shape[1] == w_key.shape[1], "queries and keys differ in width")
    if w_output is not None:
        need(w_output.ndim == 2 and w_output.shape[0] == w_value.shape[1], "w_output does not fit the values")
    dtype = x.dtype
    wide = wide_of(dtype)
    c = types.SimpleNamespace(dtype=dtype, wide=wide, S=x.shape[0], d_k=w_query.shape[1], d_v=w_value.shape[1])
    c.x, c.w_query, c.w_key, c.w_value = (np.array(a).astype(wide) for a in (x, w_query, w_key, w_value))
    c.w_output = None if w_output is None else np.array(w_output).astype(wide)
    c.scale = wide.type(1 / np.sqrt(c.d_k) if scale is None else scale)
    with np.errstate(all="ignore"):
        c.query, c.key, c.value = c.x @ c.w_query, c.x @ c.w_key, c.x @ c.w_value
    return c


def scores_of(c):
    with np.errstate(all="ignore"):
        return (c.query @ c.key.T) * c.scale


def finish_single(c, weights, scores, **other):
    with np.errstate(all="ignore"):
        output = weights @ c.value
        if c.w_output is not None:
            output = output @ c.w_output
    results = dict(output=output, weights=weights, scores=scores, query=c.query, key=c.key, value=c.value)
    results.update(other)
    return {name: rounded(array, c.dtype) for name, array in results.items()}


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    c = prepare_single(x, w_query, w_key, w_value, w_output, scale)
    scores = scores_of(c)
    return finish_single(c, shares(scores, np.ones(scores.shape, bool)), scores)


# --- context vector ------------------------------------------------------------------------------------------------

def prepare_context(encoder_states, decoder_state, scale=None, width=True):
    need(np.ndim(encoder_states) == 2 and np.ndim(decoder_state) == 1, "states are (S, D), the decoder's is (D,)")
    if width:
        need(encoder_states.shape[1] == decoder_state.shape[0], "the states differ in width")
    dtype = encoder_states.dtype
    wide = wide_of(dtype)
    c = types.SimpleNamespace(dtype=dtype, wide=wide, S=encoder_states.shape[0], D=encoder_states.shape[1])
    c.states, c.asks = np.array(encoder_states).astype(wide), np.array(decoder_state).astype(wide)
    c.scale = wide.type(1 / np.sqrt(c.D) if scale is None else scale)
    return c


def finish_context(c, context, weights, scores, raw_scores):
    results = dict(context=context, weights=weights, scores=scores, raw_scores=raw_scores)
    return {name: rounded(array, c.dtype) for name, array in results.items()}


def context_vector(encoder_states, decoder_state, scale=None):
    c = prepare_context(encoder_states, decoder_state, scale)
    with np.errstate(all="ignore"):
        raw = c.states @ c.asks
        scores = raw * c.scale
        weights = shares(scores, np.ones(scores.shape, bool))
        return finish_context(c, weights @ c.states, weights, scores, raw)
