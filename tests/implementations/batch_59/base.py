"""Right implementations after the pages, and parts for the other files."""
import functools
import math
from types import SimpleNamespace

import ml_dtypes
import numpy as np

DTYPES = ("float64", "float32", "bfloat16", "float16")


def work(dtype):
    return np.dtype(np.float64) if np.dtype(dtype) == np.float64 else np.dtype(np.float32)


def quiet(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)
    return inner


def refuse(condition, text):
    if condition:
        raise ValueError(text)


def rounded(dtype, **outputs):
    return {name: np.array(array).astype(dtype) for name, array in outputs.items()}


# multi-head attention

def prepare(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask, num_heads, scale):
    """Checks the inputs, and says the extents."""
    for array in (query, key, value):
        refuse(array.ndim != 3, "query, key and value have rank 3")
    B, Sq, D = query.shape
    Sk, H = key.shape[1], int(num_heads)
    refuse(H < 1 or D % H, "features are no multiple of num_heads")
    refuse(key.shape != (B, Sk, D) or value.shape != (B, Sk, D), "query, key and value do not fit together")
    for w in (w_query, w_key, w_value, w_output):
        refuse(w.shape != (D, D), "a weight matrix has another shape")
    for b in (b_query, b_key, b_value, b_output):
        refuse(b is not None and b.shape != (D,), "a bias has another shape")
    if mask is not None:
        refuse(not 2 <= mask.ndim <= 4, "a mask has rank 2 to 4")
        refuse(mask.shape[-1] != Sk, "the last axis of the mask is not that of the keys")
        for n, full in zip(mask.shape[::-1], (Sk, Sq, H, B)):
            refuse(n not in (1, full), "the mask does not broadcast")
        refuse(mask.dtype != bool and mask.dtype.kind in "iu", "a mask of integers")
    E = D // H
    return SimpleNamespace(B=B, Sq=Sq, Sk=Sk, D=D, H=H, E=E, dtype=query.dtype, wd=work(query.dtype),
                           scale=1 / math.sqrt(E) if scale is None else float(scale))


def project(x, w, b, wd):
    result = np.asarray(x).astype(wd) @ np.asarray(w).astype(wd)
    return result if b is None else result + np.asarray(b).astype(wd)


def cut(x, H):
    B, S, D = x.shape
    return x.reshape(B, S, H, D // H).transpose(0, 2, 1, 3)


def join(x):
    B, H, S, E = x.shape
    return x.transpose(0, 2, 1, 3).reshape(B, S, H * E)


def lower(p):
    return np.arange(p.Sk)[None, :] <= np.arange(p.Sq)[:, None]


def masks(mask, is_causal, p):
    """Which keys may be attended, (B, H, Sq, Sk), and what is added to scores, or None."""
    allowed, bias = np.ones((p.B, p.H, p.Sq, p.Sk), bool), None
    if mask is not None:
        if mask.dtype == bool:
            allowed &= mask
        else:
            numbers = np.asarray(mask).astype(p.wd)
            gone = np.isneginf(numbers)
            allowed &= ~gone
            bias = np.where(gone, 0, numbers).astype(p.wd)
    if is_causal:
        allowed &= lower(p)
    return allowed, bias


def logits_of(q, k, scale, allowed, bias):
    logits = q @ k.swapaxes(-1, -2) * q.dtype.type(scale)
    if bias is not None:
        logits = logits + bias
    return np.where(allowed, logits, -np.inf).astype(q.dtype)


def shares(logits, allowed):
    top = logits.max(axis=-1, keepdims=True, initial=-np.inf)
    top = np.where(np.isneginf(top), 0, top)
    powers = np.where(allowed, np.exp(logits - top), 0).astype(logits.dtype)
    total = powers.sum(axis=-1, keepdims=True)
    return np.where(allowed.any(axis=-1, keepdims=True), powers / total, 0).astype(logits.dtype)


def weigh(weights, v, allowed):
    if np.isfinite(v).all():
        return weights @ v
    products = weights[..., :, :, None] * v[..., None, :, :]
    return np.where(allowed[..., None], products, 0).sum(axis=-2).astype(v.dtype)


@quiet
def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, *, num_heads, is_causal=False, scale=None):
    p = prepare(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask, num_heads, scale)
    q = cut(project(query, w_query, b_query, p.wd), p.H)
    k = cut(project(key, w_key, b_key, p.wd), p.H)
    v = cut(project(value, w_value, b_value, p.wd), p.H)
    allowed, bias = masks(mask, is_causal, p)
    weights = shares(logits_of(q, k, p.scale, allowed, bias), allowed)
    output = project(join(weigh(weights, v, allowed)), w_output, b_output, p.wd)
    return rounded(p.dtype, output=output, weights=weights)


# single-head attention

def prepare_single(x, w_query, w_key, w_value, w_output, scale):
    for array in (x, w_query, w_key, w_value):
        refuse(array.ndim != 2, "tokens and matrices have rank 2")
    S, D = x.shape
    refuse(any(w.shape[0] != D for w in (w_query, w_key, w_value)), "a matrix has another height")
    refuse(w_query.shape[1] != w_key.shape[1], "queries and keys have different widths")
    if w_output is not None:
        refuse(w_output.ndim != 2 or w_output.shape[0] != w_value.shape[1], "w_output has another height")
    d_k = w_query.shape[1]
    return SimpleNamespace(S=S, D=D, d_k=d_k, d_v=w_value.shape[1], dtype=x.dtype, wd=work(x.dtype),
                           scale=1 / math.sqrt(d_k) if scale is None else float(scale))


def shares_plain(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
    return powers / powers.sum(axis=-1, keepdims=True)


@quiet
def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    p = prepare_single(x, w_query, w_key, w_value, w_output, scale)
    query, key, value = (project(x, w, None, p.wd) for w in (w_query, w_key, w_value))
    scores = query @ key.T * p.wd.type(p.scale)
    weights = shares_plain(scores)
    output = weights @ value
    if w_output is not None:
        output = output @ np.asarray(w_output).astype(p.wd)
    return rounded(p.dtype, output=output, weights=weights, scores=scores, query=query, key=key, value=value)


# context vector

def prepare_context(encoder_states, decoder_state, scale):
    refuse(encoder_states.ndim != 2 or decoder_state.ndim != 1, "states of other ranks")
    refuse(encoder_states.shape[1] != decoder_state.shape[0], "different numbers of features")
    S, D = encoder_states.shape
    return SimpleNamespace(S=S, D=D, dtype=encoder_states.dtype, wd=work(encoder_states.dtype),
                           scale=1 / math.sqrt(D) if scale is None else float(scale))


@quiet
def context_vector(encoder_states, decoder_state, scale=None):
    p = prepare_context(encoder_states, decoder_state, scale)
    states, asker = encoder_states.astype(p.wd), decoder_state.astype(p.wd)
    raw = states @ asker
    scores = raw * p.wd.type(p.scale)
    weights = shares_plain(scores)
    return rounded(p.dtype, context=weights @ states, weights=weights, scores=scores, raw_scores=raw)
