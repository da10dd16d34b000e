"""Right implementations after the pages, and the parts that the other files use."""
from types import SimpleNamespace

import ml_dtypes
import numpy as np

DTYPES = ("float64", "float32", "bfloat16", "float16")
NAMES = ("float64", "float32", "bfloat16", "float16")


def work_type(dtype):
    return np.float64 if np.dtype(dtype) == np.float64 else np.float32


def wide(x, T):
    """A copy of x in the dtype that is worked in, in C order."""
    with np.errstate(all="ignore"):
        return np.array(x, dtype=T, order="C", copy=True)


def rounded(x, dtype):
    with np.errstate(all="ignore"):
        return np.array(x, order="C", copy=True).astype(dtype)


def refuse(condition, text):
    if condition:
        raise ValueError(text)


# ---------------------------------------------------------------- parts of attention

def shares(logits, keep=None):
    """Softmax along the last axis over what is kept; rows without keys are zero."""
    T = logits.dtype.type
    with np.errstate(all="ignore"):
        if keep is None:
            keep = np.ones(logits.shape, bool)
        logits = np.where(keep, logits, T(-np.inf))
        alive = keep.any(axis=-1, keepdims=True)
        top = logits.max(axis=-1, keepdims=True, initial=-np.inf)
        top = np.where(alive, top, T(0)).astype(T)
        e = np.where(keep, np.exp(logits - top), T(0)).astype(T)
        total = np.where(alive, e.sum(axis=-1, keepdims=True), T(1)).astype(T)
        return np.where(alive, e / total, T(0)).astype(T)


def weigh(weights, value, keep=None):
    """Sum of values by weights; what is excluded has no effect, be it NaN."""
    with np.errstate(all="ignore"):
        if keep is None or np.isfinite(value).all():
            return weights @ value
        terms = weights[..., :, None] * value[..., None, :, :]
        return np.where(keep[..., None], terms, value.dtype.type(0)).sum(axis=-2)


def attend(q, k, v, scale, keep, bias):
    T = q.dtype.type
    with np.errstate(all="ignore"):
        logits = (q @ k.swapaxes(-1, -2)) * T(scale)
        if bias is not None:
            logits = logits + bias
        weights = shares(logits, keep)
        return weigh(weights, v, keep), weights


# ---------------------------------------------------------------- parts of multi-head attention

def mha_begin(query, key, value, w_query, w_key, w_value, w_output, num_heads,
              b_query=None, b_key=None, b_value=None, b_output=None, mask=None, is_causal=False, scale=None,
              check_mask=True):
    """Check the inputs, and widen them."""
    for name, x in (("query", query), ("key", key), ("value", value)):
        refuse(np.ndim(x) != 3, f"{name} must have rank 3")
    B, Sq, D = query.shape
    H = int(num_heads)
    refuse(H < 1 or D % H != 0, "the number of features must be a multiple of num_heads")
    refuse(key.shape[0] != B or value.shape[0] != B, "batch sizes differ")
    refuse(key.shape[1] != value.shape[1], "numbers of keys and values differ")
    refuse(key.shape[2] != D or value.shape[2] != D, "numbers of features differ")
    Sk = key.shape[1]
    for w in (w_query, w_key, w_value, w_output):
        refuse(np.shape(w) != (D, D), "a weight matrix must be (D, D)")
    for b in (b_query, b_key, b_value, b_output):
        refuse(b is not None and np.shape(b) != (D,), "a bias must be (D,)")
    if mask is not None and check_mask:
        refuse(np.ndim(mask) not in (2, 3, 4), "a mask must have rank 2 to 4")
        refuse(mask.shape[-1] != Sk, "the last axis of a mask is that of the keys")
        for have, want in zip(mask.shape[::-1], (Sk, Sq, H, B)):
            refuse(have != want and have != 1, "the mask does not broadcast")
    T = work_type(query.dtype)
    p = SimpleNamespace(B=B, Sq=Sq, Sk=Sk, D=D, H=H, E=D // H, T=T, dtype=query.dtype, mask=mask,
                        is_causal=bool(is_causal), given_scale=scale)
    p.query, p.key, p.value = (wide(x, T) for x in (query, key, value))
    p.wq, p.wk, p.wv, p.wo = (wide(x, T) for x in (w_query, w_key, w_value, w_output))
    p.bq, p.bk, p.bv, p.bo = (None if b is None else wide(b, T) for b in (b_query, b_key, b_value, b_output))
    p.scale = float(scale) if scale is not None else (1.0 / np.sqrt(p.E) if p.E else 1.0)
    return p


def project(x, w, b=None):
    with np.errstate(all="ignore"):
        y = x @ w
        return y if b is None else y + b


def to_heads(x, H):
    B, S, D = x.shape
    return np.ascontiguousarray(x.reshape(B, S, H, D // H).transpose(0, 2, 1, 3))


def from_heads(x):
    B, H, S, E = x.shape
    return np.ascontiguousarray(x.transpose(0, 2, 1, 3)).reshape(B, S, H * E)


def mask_parts(mask, shape, T):
    """Which keys may be attended, and what is added, both in the full shape."""
    if mask is None:
        return np.ones(shape, bool), None
    if mask.dtype == bool:
        return np.broadcast_to(mask, shape).copy(), None
    numbers = wide(mask, T)
    keep = numbers != -np.inf
    bias = np.where(keep, numbers, T(0)).astype(T)
    return np.broadcast_to(keep, shape).copy(), np.broadcast_to(bias, shape).copy()


def causal_table(Sq, Sk):
    return np.arange(Sk)[None, :] <= np.arange(Sq)[:, None]


def exclusions(p):
    keep, bias = mask_parts(p.mask, (p.B, p.H, p.Sq, p.Sk), p.T)
    if p.is_causal:
        keep = keep & causal_table(p.Sq, p.Sk)
    return keep, bias


def mha_heads(p):
    return (to_heads(project(p.query, p.wq, p.bq), p.H),
            to_heads(project(p.key, p.wk, p.bk), p.H),
            to_heads(project(p.value, p.wv, p.bv), p.H))


def mha_end(p, context, weights):
    output = project(from_heads(context), p.wo, p.bo)
    return {"output": rounded(output, p.dtype), "weights": rounded(weights, p.dtype)}


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    p = mha_begin(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query, b_key, b_value, b_output,
                  mask, is_causal, scale)
    q, k, v = mha_heads(p)
    keep, bias = exclusions(p)
    context, weights = attend(q, k, v, p.scale, keep, bias)
    return mha_end(p, context, weights)


# ---------------------------------------------------------------- single-head attention

def single_begin(x, w_query, w_key, w_value, w_output=None, scale=None):
    for a in (x, w_query, w_key, w_value) + (() if w_output is None else (w_output,)):
        refuse(np.ndim(a) != 2, "tokens and weight matrices must have rank 2")
    S, D = x.shape
    refuse(any(w.shape[0] != D for w in (w_query, w_key, w_value)), "a weight matrix must have D rows")
    refuse(w_query.shape[1] != w_key.shape[1], "queries and keys differ in width")
    refuse(w_output is not None and w_output.shape[0] != w_value.shape[1], "w_output must have d_v rows")
    T = work_type(x.dtype)
    p = SimpleNamespace(S=S, D=D, dk=w_query.shape[1], dv=w_value.shape[1], T=T, dtype=x.dtype)
    p.x, p.wq, p.wk, p.wv = (wide(a, T) for a in (x, w_query, w_key, w_value))
    p.wo = None if w_output is None else wide(w_output, T)
    p.scale = float(scale) if scale is not None else (1.0 / np.sqrt(p.dk) if p.dk else 1.0)
    return p


def single_end(p, output, weights, scores, query, key, value):
    return {name: rounded(a, p.dtype) for name, a in
            (("output", output), ("weights", weights), ("scores", scores), ("query", query), ("key", key),
             ("value", value))}


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    p = single_begin(x, w_query, w_key, w_value, w_output, scale)
    query, key, value = project(p.x, p.wq), project(p.x, p.wk), project(p.x, p.wv)
    with np.errstate(all="ignore"):
        scores = (query @ key.T) * p.T(p.scale)
        weights = shares(scores)
        output = weights @ value
        if p.wo is not None:
            output = output @ p.wo
    return single_end(p, output, weights, scores, query, key, value)


# ---------------------------------------------------------------- context vector

def context_begin(encoder_states, decoder_state, scale=None):
    refuse(np.ndim(encoder_states) != 2, "encoder states must have rank 2")
    refuse(np.ndim(decoder_state) != 1, "a decoder state must have rank 1")
    refuse(encoder_states.shape[1] != decoder_state.shape[0], "numbers of features differ")
    T = work_type(encoder_states.dtype)
    p = SimpleNamespace(S=encoder_states.shape[0], D=encoder_states.shape[1], T=T, dtype=encoder_states.dtype)
    p.states, p.state = wide(encoder_states, T), wide(decoder_state, T)
    p.scale = float(scale) if scale is not None else (1.0 / np.sqrt(p.D) if p.D else 1.0)
    return p


def context_end(p, context, weights, scores, raw):
    return {name: rounded(a, p.dtype) for name, a in
            (("context", context), ("weights", weights), ("scores", scores), ("raw_scores", raw))}


def context_vector(encoder_states, decoder_state, scale=None):
    p = context_begin(encoder_states, decoder_state, scale)
    with np.errstate(all="ignore"):
        raw = p.states @ p.state
        scores = raw * p.T(p.scale)
        weights = shares(scores)
        context = weights @ p.states
    return context_end(p, context, weights, scores, raw)
