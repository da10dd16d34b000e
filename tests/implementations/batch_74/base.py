"""Right implementations of multi-head attention, single-head attention and the context vector, and their parts."""
import math

import ml_dtypes
import numpy as np

ALL = ("float64", "float32", "bfloat16", "float16")
KNOWN = tuple(np.dtype(t) for t in (np.float64, np.float32, ml_dtypes.bfloat16, np.float16))
QUIET = dict(invalid="ignore", over="ignore", under="ignore", divide="ignore")


# ---------------------------------------------------------------- parts
def inner(dtype):
    return np.dtype(np.float64) if np.dtype(dtype) == np.float64 else np.dtype(np.float32)


def widen(array, dtype=None):
    """float64 stays, all else is carried in float32; never to be edited in place."""
    array = np.asarray(array)
    return array.astype(inner(array.dtype if dtype is None else dtype), copy=False)


def finish(outputs, dtype):
    with np.errstate(**QUIET):
        return {name: np.array(value, dtype=dtype, order="C") for name, value in outputs.items()}


def refuse(condition, text):
    if condition:
        raise ValueError(text)


def default_scale(width):
    return 1.0 / math.sqrt(width) if width else 1.0


def times(a, b):
    with np.errstate(**QUIET):
        return np.matmul(a, b)


def split(x, heads):
    b, s, d = x.shape
    return x.reshape(b, s, heads, d // heads).transpose(0, 2, 1, 3)


def combine(x):
    b, h, s, e = x.shape
    return np.ascontiguousarray(x.transpose(0, 2, 1, 3)).reshape(b, s, h * e)


def softmax_rows(logits, allowed=None):
    """Softmax along the last axis; excluded places (and rows of nothing else) get 0."""
    with np.errstate(**QUIET):
        if allowed is not None:
            logits = np.where(allowed, logits, -np.inf)
        top = logits.max(axis=-1, keepdims=True, initial=-np.inf)
        top = np.where(np.isneginf(top), 0, top).astype(logits.dtype)
        e = np.exp(logits - top)
        if allowed is not None:
            e = np.where(allowed, e, 0)
        total = e.sum(axis=-1, keepdims=True)
        w = e / np.where(total == 0, 1, total)
        if allowed is not None:
            w = np.where(allowed, w, 0)
        return w.astype(logits.dtype, copy=False)


def weigh(weights, value, allowed=None):
    """weights (…, Sq, Sk) times value (…, Sk, E); what is excluded has no effect, be it NaN."""
    with np.errstate(**QUIET):
        good = np.isfinite(value).all(axis=-1)
        if good.all() or allowed is None:
            return np.matmul(weights, value)
        out = np.matmul(weights, np.where(good[..., None], value, 0).astype(value.dtype))
        allowed = np.broadcast_to(allowed, weights.shape)
        for place in np.argwhere(~good):
            lead, j = tuple(place[:-1]), place[-1]
            part = weights[lead][:, j, None] * value[lead][j]
            rows = allowed[lead][:, j]
            out[lead][rows] += part[rows]
        return out


def causal(sq, sk):
    return np.arange(sk)[None, :] <= np.arange(sq)[:, None]


# ---------------------------------------------------------------- multi-head attention
def check_multi(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                b_query=None, b_key=None, b_value=None, b_output=None, mask=None):
    """Refuses what does not fit; gives (B, H, Sq, Sk, D)."""
    for x in (query, key, value):
        refuse(np.ndim(x) != 3, "query, key and value must have rank 3")
    b, sq, d = np.shape(query)
    sk = np.shape(key)[1]
    refuse(np.shape(key)[0] != b or np.shape(value)[0] != b, "batch sizes differ")
    refuse(np.shape(value)[1] != sk, "key and value have different numbers of tokens")
    refuse(np.shape(key)[2] != d or np.shape(value)[2] != d, "numbers of features differ")
    refuse(int(num_heads) != num_heads or num_heads < 1, "num_heads must be a positive integer")
    refuse(d % num_heads != 0, "features are no multiple of num_heads")
    for w in (w_query, w_key, w_value, w_output):
        refuse(np.shape(w) != (d, d), "weight matrices must be (D, D)")
    for v in (b_query, b_key, b_value, b_output):
        refuse(v is not None and np.shape(v) != (d,), "biases must be (D,)")
    h = int(num_heads)
    if mask is not None:
        shape, full = np.shape(mask), (b, h, sq, sk)
        refuse(not 2 <= len(shape) <= 4, "mask must have rank 2 to 4")
        refuse(shape[-1] != sk, "last axis of the mask must be that of the keys")
        for have, want in zip(shape[::-1], full[::-1]):
            refuse(have not in (1, want), "mask does not broadcast to (B, H, Sq, Sk)")
    return b, h, sq, sk, d


def project(x, w, bias, dtype):
    out = times(widen(x, dtype), widen(w, dtype))
    return out if bias is None else out + widen(bias, dtype)


def mask_parts(mask, is_causal, sq, sk, dtype):
    """(allowed or None, bias or None), each broadcastable to (B, H, Sq, Sk)."""
    allowed = bias = None
    if mask is not None:
        mask = np.asarray(mask)
        if mask.dtype == bool:
            allowed = mask
        else:
            wide = mask.astype(inner(dtype))
            allowed = ~np.isneginf(wide)
            bias = np.where(allowed, wide, 0).astype(inner(dtype))
    if is_causal:
        allowed = causal(sq, sk) if allowed is None else allowed & causal(sq, sk)
    return allowed, bias


def logits_of(q, k, scale, bias):
    with np.errstate(**QUIET):
        scores = np.matmul(q, k.swapaxes(-1, -2)) * q.dtype.type(scale)
        return scores if bias is None else scores + bias


def attend(q, k, v, scale, allowed=None, bias=None):
    """(B, H, S, E) each; gives (heads, weights)."""
    logits = logits_of(q, k, scale, bias)
    if allowed is not None:
        allowed = np.broadcast_to(allowed, logits.shape)
    w = softmax_rows(logits, allowed)
    return weigh(w, v, allowed), w


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                         b_query=None, b_key=None, b_value=None, b_output=None,
                         mask=None, is_causal=False, scale=None):
    b, h, sq, sk, d = check_multi(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                                  b_query, b_key, b_value, b_output, mask)
    dtype = np.asarray(query).dtype
    q = split(project(query, w_query, b_query, dtype), h)
    k = split(project(key, w_key, b_key, dtype), h)
    v = split(project(value, w_value, b_value, dtype), h)
    allowed, bias = mask_parts(mask, is_causal, sq, sk, dtype)
    heads, weights = attend(q, k, v, default_scale(d // h) if scale is None else scale, allowed, bias)
    output = project(combine(heads), w_output, b_output, dtype)
    return finish({"output": output, "weights": weights}, dtype)


# ---------------------------------------------------------------- single-head attention
def check_single(x, w_query, w_key, w_value, w_output=None):
    refuse(np.ndim(x) != 2, "x must have rank 2")
    d = np.shape(x)[1]
    for w in (w_query, w_key, w_value):
        refuse(np.ndim(w) != 2 or np.shape(w)[0] != d, "weight matrices must have as many rows as x has features")
    refuse(np.shape(w_query)[1] != np.shape(w_key)[1], "w_query and w_key must have as many columns")
    if w_output is not None:
        refuse(np.ndim(w_output) != 2 or np.shape(w_output)[0] != np.shape(w_value)[1], "w_output does not fit")


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    check_single(x, w_query, w_key, w_value, w_output)
    dtype = np.asarray(x).dtype
    q, k, v = (times(widen(x, dtype), widen(w, dtype)) for w in (w_query, w_key, w_value))
    scores = logits_of(q, k, default_scale(q.shape[-1]) if scale is None else scale, None)
    weights = softmax_rows(scores)
    output = times(weights, v)
    if w_output is not None:
        output = times(output, widen(w_output, dtype))
    return finish({"output": output, "weights": weights, "scores": scores, "query": q, "key": k, "value": v}, dtype)


# ---------------------------------------------------------------- context vector
def check_context(encoder_states, decoder_state):
    refuse(np.ndim(encoder_states) != 2, "encoder states must have rank 2")
    refuse(np.ndim(decoder_state) != 1, "the decoder state must have rank 1")
    refuse(np.shape(encoder_states)[1] != np.shape(decoder_state)[0], "numbers of features differ")


def context_vector(encoder_states, decoder_state, scale=None):
    check_context(encoder_states, decoder_state)
    dtype = np.asarray(encoder_states).dtype
    states, state = widen(encoder_states, dtype), widen(decoder_state, dtype)
    raw = times(states, state)
    scores = raw * raw.dtype.type(default_scale(state.shape[0]) if scale is None else scale)
    weights = softmax_rows(scores)
    return finish({"context": times(weights, states), "weights": weights, "scores": scores, "raw_scores": raw}, dtype)
