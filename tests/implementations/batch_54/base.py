"""Right implementations after the pages, and parts that the other files use."""
import math
from types import SimpleNamespace

import ml_dtypes
import numpy as np

FLOATS = tuple(np.dtype(t) for t in (np.float64, np.float32, np.float16, ml_dtypes.bfloat16))


def work_dtype(dtype):
    return np.dtype(np.float64) if np.dtype(dtype) == np.float64 else np.dtype(np.float32)


def widen(array, work):
    return np.asarray(array).astype(work)  # always a copy


def quiet():
    return np.errstate(all="ignore")


def refuse(condition, message):
    if condition:
        raise ValueError(message)


# ---------------------------------------------------------------- multi-head parts

def check_multi_head(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                     b_query=None, b_key=None, b_value=None, b_output=None, mask=None, is_causal=False, scale=None,
                     divisible=True):
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        refuse(np.ndim(tensor) != 3, f"{name} must have rank 3")
    B, Sq, D = query.shape
    Sk = key.shape[1]
    H = int(num_heads)
    refuse(H <= 0, "num_heads must be positive")
    refuse(divisible and D % H != 0, "the number of features is no multiple of num_heads")
    refuse(key.shape[2] != D or value.shape[2] != D, "different numbers of features")
    refuse(key.shape[0] != B or value.shape[0] != B, "different batch sizes")
    refuse(value.shape[1] != Sk, "key and value of different lengths")
    for w in (w_query, w_key, w_value, w_output):
        refuse(np.shape(w) != (D, D), "weight matrices must be (D, D)")
    for b in (b_query, b_key, b_value, b_output):
        refuse(b is not None and np.shape(b) != (D,), "biases must be (D,)")
    E = D // H
    dtype = query.dtype
    work = work_dtype(dtype)
    if mask is not None:
        check_mask(mask, B, H, Sq, Sk)
    factor = 1 / math.sqrt(E) if scale is None and E > 0 else (0 if scale is None else scale)
    return SimpleNamespace(B=B, Sq=Sq, Sk=Sk, D=D, H=H, E=E, dtype=dtype, work=work, scale=work.type(factor))


def check_mask(mask, B, H, Sq, Sk):
    refuse(not 2 <= mask.ndim <= 4, "a mask has rank 2 to 4")
    refuse(mask.dtype != np.bool_ and mask.dtype not in FLOATS, "a mask is Boolean or float")
    refuse(mask.shape[-1] != Sk, "last axis of the mask")
    for have, want in zip(mask.shape[::-1], (Sk, Sq, H, B)):
        refuse(have not in (1, want), "the mask does not broadcast")


def project(x, w, b, work):
    result = widen(x, work) @ widen(w, work)
    return result if b is None else result + widen(b, work)


def split(x, heads):
    B, S, D = x.shape
    return x.reshape(B, S, heads, D // heads).transpose(0, 2, 1, 3)


def combine(x):
    B, H, S, E = x.shape
    return x.transpose(0, 2, 1, 3).reshape(B, S, H * E)


def permitted(mask, is_causal, B, H, Sq, Sk, work):
    """What may be attended, (B, H, Sq, Sk), and what is added, or None."""
    allowed = np.ones((B, H, Sq, Sk), bool)
    bias = None
    if mask is not None:
        if mask.dtype == np.bool_:
            allowed &= mask
        else:
            bias = widen(mask, work)
            allowed &= ~np.isneginf(bias)
    if is_causal:
        allowed &= np.arange(Sk)[None, :] <= np.arange(Sq)[:, None]
    return allowed, bias


def softmax(scores, allowed=None, bias=None):
    logits = scores if bias is None else scores + bias
    if allowed is not None:
        logits = np.where(allowed, logits, logits.dtype.type(-np.inf))
    top = logits.max(axis=-1, keepdims=True, initial=-np.inf)
    exponentials = np.exp(logits - top)
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    if allowed is not None:
        weights = np.where(allowed, weights, 0)  # exactly, also in rows of NaN and in rows without keys
    return weights.astype(scores.dtype)


def weigh(weights, value, allowed=None):
    if allowed is None or np.isfinite(value).all():
        return weights @ value
    dead = ~allowed.any(axis=-1)
    w = np.where(allowed, weights, 0)[..., None]
    result = np.where(allowed[..., None], w * value[..., None, :, :], 0).sum(axis=-2)
    result[dead] = 0
    return result.astype(value.dtype)


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                         b_query=None, b_key=None, b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    a = check_multi_head(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                         b_query, b_key, b_value, b_output, mask, is_causal, scale)
    with quiet():
        q = split(project(query, w_query, b_query, a.work), a.H)
        k = split(project(key, w_key, b_key, a.work), a.H)
        v = split(project(value, w_value, b_value, a.work), a.H)
        allowed, bias = permitted(mask, is_causal, a.B, a.H, a.Sq, a.Sk, a.work)
        weights = softmax(q @ k.swapaxes(-1, -2) * a.scale, allowed, bias)
        output = project(combine(weigh(weights, v, allowed)), w_output, b_output, a.work)
        return {"output": output.astype(a.dtype), "weights": weights.astype(a.dtype)}


# ---------------------------------------------------------------- single head

def check_single_head(x, w_query, w_key, w_value, w_output=None, scale=None):
    for tensor in (x, w_query, w_key, w_value) + (() if w_output is None else (w_output,)):
        refuse(np.ndim(tensor) != 2, "rank must be 2")
    S, D = x.shape
    for w in (w_query, w_key, w_value):
        refuse(w.shape[0] != D, "weights do not fit the tokens")
    refuse(w_query.shape[1] != w_key.shape[1], "queries and keys of different widths")
    refuse(w_output is not None and w_output.shape[0] != w_value.shape[1], "w_output does not fit the values")
    work = work_dtype(x.dtype)
    d_k = w_query.shape[1]
    factor = 1 / math.sqrt(d_k) if scale is None else scale
    return SimpleNamespace(S=S, D=D, d_k=d_k, d_v=w_value.shape[1], dtype=x.dtype, work=work, scale=work.type(factor))


def single_results(dtype, output, weights, scores, query, key, value):
    return {name: part.astype(dtype) for name, part in
            (("output", output), ("weights", weights), ("scores", scores), ("query", query), ("key", key), ("value", value))}


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    a = check_single_head(x, w_query, w_key, w_value, w_output, scale)
    with quiet():
        query, key, value = (project(x, w, None, a.work) for w in (w_query, w_key, w_value))
        scores = query @ key.T * a.scale
        weights = softmax(scores)
        output = weights @ value
        if w_output is not None:
            output = output @ widen(w_output, a.work)
        return single_results(a.dtype, output, weights, scores, query, key, value)


# ---------------------------------------------------------------- context vector

def check_context(encoder_states, decoder_state, scale=None):
    refuse(np.ndim(encoder_states) != 2 or np.ndim(decoder_state) != 1, "rank")
    refuse(encoder_states.shape[1] != decoder_state.shape[0], "different numbers of features")
    work = work_dtype(encoder_states.dtype)
    S, D = encoder_states.shape
    factor = 1 / math.sqrt(D) if scale is None else scale
    return SimpleNamespace(S=S, D=D, dtype=encoder_states.dtype, work=work, scale=work.type(factor))


def context_results(dtype, context, weights, scores, raw_scores):
    return {name: part.astype(dtype) for name, part in
            (("context", context), ("weights", weights), ("scores", scores), ("raw_scores", raw_scores))}


def context_vector(encoder_states, decoder_state, scale=None):
    a = check_context(encoder_states, decoder_state, scale)
    with quiet():
        states, state = widen(encoder_states, a.work), widen(decoder_state, a.work)
        raw = states @ state
        scores = raw * a.scale
        weights = softmax(scores)
        return context_results(a.dtype, weights @ states, weights, scores, raw)
