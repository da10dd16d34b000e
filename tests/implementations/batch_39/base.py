"""Right implementations after the pages, and the parts that the other files use."""

import ml_dtypes
import numpy as np

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = ("float64", "float32", "bfloat16", "float16")
FLOATS = tuple(np.dtype(d) for d in (np.float64, np.float32, BFLOAT16, np.float16))


class Refused(ValueError):
    pass


def need(condition, text):
    if not condition:
        raise Refused(text)


def wide_dtype(dtype):
    return np.dtype(np.float64) if np.dtype(dtype) == np.float64 else np.dtype(np.float32)


def widen(x, acc):
    """A fresh array in C order, never the input itself."""
    return None if x is None else np.array(x, dtype=acc, order="C")


def narrow(x, dtype):
    with np.errstate(all="ignore"):
        return np.array(x, dtype=dtype, order="C")


# ---- multi-head attention -------------------------------------------------------------------------------------------


class Plan:
    """Checked and widened arguments of multi-head attention."""


def check_mask(mask, B, H, Sq, Sk):
    if mask is None:
        return
    need(mask.dtype == bool or mask.dtype in FLOATS, "a mask is Boolean or float")
    need(2 <= mask.ndim <= 4, "a mask has rank 2 to 4")
    full = (B, H, Sq, Sk)[4 - mask.ndim:]
    need(mask.shape[-1] == Sk, "the last axis of a mask is that of the keys")
    for have, want in zip(mask.shape, full):
        need(have in (1, want), "the mask does not broadcast")


def check_multi_head(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                     b_query, b_key, b_value, b_output, mask):
    for x in (query, key, value):
        need(x.ndim == 3, "query, key and value have rank 3")
    B, Sq, D = query.shape
    Sk = key.shape[1]
    need(int(num_heads) == num_heads and num_heads > 0, "num_heads is a positive integer")
    need(D % num_heads == 0, "the features are no multiple of the heads")
    need(key.shape == (B, Sk, D) and value.shape == (B, Sk, D), "query, key and value do not fit together")
    for w in (w_query, w_key, w_value, w_output):
        need(w.shape == (D, D), "a weight matrix is (D, D)")
    for b in (b_query, b_key, b_value, b_output):
        need(b is None or b.shape == (D,), "a bias is (D,)")
    check_mask(mask, B, int(num_heads), Sq, Sk)


def plan(query, key, value, w_query, w_key, w_value, w_output, num_heads,
         b_query=None, b_key=None, b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    p = Plan()
    arrays = [None if x is None else np.asarray(x) for x in
              (query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask)]
    query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask = arrays
    check_multi_head(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                     b_query, b_key, b_value, b_output, mask)
    p.dtype = query.dtype
    p.acc = wide_dtype(p.dtype)
    p.B, p.Sq, p.D = query.shape
    p.Sk = key.shape[1]
    p.H = int(num_heads)
    p.E = p.D // p.H
    for name, x in (("query", query), ("key", key), ("value", value), ("w_query", w_query), ("w_key", w_key),
                    ("w_value", w_value), ("w_output", w_output), ("b_query", b_query), ("b_key", b_key),
                    ("b_value", b_value), ("b_output", b_output)):
        setattr(p, name, widen(x, p.acc))
    p.mask = mask
    p.is_causal = bool(is_causal)
    p.scale = p.acc.type(1 / np.sqrt(p.E) if scale is None and p.E else 1 if scale is None else scale)
    return p


def project(x, w, b):
    with np.errstate(all="ignore"):
        y = x @ w
        return y if b is None else y + b


def split(x, H):
    B, S, D = x.shape
    return x.reshape(B, S, H, D // H).swapaxes(1, 2)


def combine(x):
    B, H, S, E = x.shape
    return x.swapaxes(1, 2).reshape(B, S, H * E)


def causal_table(Sq, Sk):
    return np.arange(Sk)[None, :] <= np.arange(Sq)[:, None]


def mask_terms(mask, is_causal, shape, acc):
    """What may be attended, and what is added (0 where it may not)."""
    allowed = np.ones(shape, dtype=bool)
    bias = None
    if mask is not None:
        if mask.dtype == bool:
            allowed &= mask
        else:
            wide = mask.astype(acc)
            allowed &= wide != -np.inf
            bias = np.where(wide == -np.inf, acc.type(0), wide)
    if is_causal:
        allowed &= causal_table(shape[-2], shape[-1])
    return allowed, bias


def scores_of(q, k, scale):
    with np.errstate(all="ignore"):
        return (q @ k.swapaxes(-1, -2)) * scale


def softmax_rows(scores, allowed, bias):
    with np.errstate(all="ignore"):
        logits = scores if bias is None else scores + bias
        logits = np.where(allowed, logits, -np.inf).astype(scores.dtype)
        alive = allowed.any(axis=-1, keepdims=True)
        top = np.where(alive, logits.max(axis=-1, keepdims=True, initial=-np.inf), 0).astype(scores.dtype)
        e = np.where(allowed, np.exp(logits - top), 0).astype(scores.dtype)
        total = np.where(alive, e.sum(axis=-1, keepdims=True), 1).astype(scores.dtype)
        return e / total


def weigh(weights, v, allowed):
    with np.errstate(all="ignore"):
        if np.isfinite(v).all() and np.isfinite(weights).all():
            return weights @ v
        terms = np.where(allowed[..., None], weights[..., None] * v[:, :, None], 0)
        return terms.sum(axis=-2).astype(v.dtype)


def attend(q, k, v, allowed, bias, scale):
    weights = softmax_rows(scores_of(q, k, scale), allowed, bias)
    return weigh(weights, v, allowed), weights


def finish(p, mixed, weights):
    """mixed: (B, Sq, D), the combined heads."""
    output = project(mixed, p.w_output, p.b_output)
    return {"output": narrow(output, p.dtype), "weights": narrow(weights, p.dtype)}


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                         b_query=None, b_key=None, b_value=None, b_output=None,
                         mask=None, is_causal=False, scale=None):
    p = plan(query, key, value, w_query, w_key, w_value, w_output, num_heads,
             b_query, b_key, b_value, b_output, mask, is_causal, scale)
    q = split(project(p.query, p.w_query, p.b_query), p.H)
    k = split(project(p.key, p.w_key, p.b_key), p.H)
    v = split(project(p.value, p.w_value, p.b_value), p.H)
    allowed, bias = mask_terms(p.mask, p.is_causal, (p.B, p.H, p.Sq, p.Sk), p.acc)
    context, weights = attend(q, k, v, allowed, bias, p.scale)
    return finish(p, combine(context), weights)


# ---- single-head attention ------------------------------------------------------------------------------------------


def check_single_head(x, w_query, w_key, w_value, w_output):
    for a in (x, w_query, w_key, w_value):
        need(a.ndim == 2, "rank 2")
    D = x.shape[1]
    need(w_query.shape[0] == D and w_key.shape[0] == D and w_value.shape[0] == D, "weights do not fit the tokens")
    need(w_query.shape[1] == w_key.shape[1], "queries and keys differ in width")
    if w_output is not None:
        need(w_output.ndim == 2 and w_output.shape[0] == w_value.shape[1], "w_output does not fit the values")


def single_plan(x, w_query, w_key, w_value, w_output, scale):
    p = Plan()
    x, w_query, w_key, w_value = (np.asarray(a) for a in (x, w_query, w_key, w_value))
    w_output = None if w_output is None else np.asarray(w_output)
    check_single_head(x, w_query, w_key, w_value, w_output)
    p.dtype = x.dtype
    p.acc = wide_dtype(x.dtype)
    p.S, p.D = x.shape
    p.x, p.w_query, p.w_key, p.w_value, p.w_output = (
        widen(a, p.acc) for a in (x, w_query, w_key, w_value, w_output))
    d_k = w_query.shape[1]
    p.scale = p.acc.type((1 / np.sqrt(d_k) if d_k else 1) if scale is None else scale)
    return p


def plain_softmax(scores):
    with np.errstate(all="ignore"):
        e = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
        return e / e.sum(axis=-1, keepdims=True)


def single_finish(p, **outputs):
    return {name: narrow(a, p.dtype) for name, a in outputs.items()}


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    p = single_plan(x, w_query, w_key, w_value, w_output, scale)
    query, key, value = p.x @ p.w_query, p.x @ p.w_key, p.x @ p.w_value
    scores = (query @ key.T) * p.scale
    weights = plain_softmax(scores)
    output = weights @ value
    if p.w_output is not None:
        output = output @ p.w_output
    return single_finish(p, output=output, weights=weights, scores=scores, query=query, key=key, value=value)


# ---- context vector -------------------------------------------------------------------------------------------------


def check_context(encoder_states, decoder_state):
    need(encoder_states.ndim == 2 and decoder_state.ndim == 1, "ranks 2 and 1")
    need(encoder_states.shape[1] == decoder_state.shape[0], "states of different numbers of features")


def context_scale(D, scale, acc):
    return acc.type((1 / np.sqrt(D) if D else 1) if scale is None else scale)


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = np.asarray(encoder_states), np.asarray(decoder_state)
    check_context(encoder_states, decoder_state)
    dtype = encoder_states.dtype
    acc = wide_dtype(dtype)
    states, asking = widen(encoder_states, acc), widen(decoder_state, acc)
    raw = states @ asking
    scores = raw * context_scale(states.shape[1], scale, acc)
    weights = plain_softmax(scores)
    return {name: narrow(a, dtype) for name, a in
            (("context", weights @ states), ("weights", weights), ("scores", scores), ("raw_scores", raw))}
