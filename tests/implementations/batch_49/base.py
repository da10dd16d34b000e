"""Right implementations after the pages, and the parts that the other files use."""

import ml_dtypes
import numpy as np

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = (np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.float16), BFLOAT16)
DTYPES = ("float64", "float32", "bfloat16", "float16")


def refuse(condition, text):
    if condition:
        raise ValueError(text)


def wide(dtype):
    return np.dtype(np.float64) if np.dtype(dtype) == np.float64 else np.dtype(np.float32)


def widen(array, dtype):
    """A fresh array in the dtype that is computed in, or None."""
    return None if array is None else np.array(array).astype(wide(dtype))


def rounded(array, dtype):
    with np.errstate(all="ignore"):
        return np.array(array, order="C").astype(dtype)


def is_boolean(mask):
    return mask.dtype == np.bool_


# ---- multi-head attention ----


def check_heads(features, num_heads):
    refuse(int(num_heads) != num_heads or num_heads < 1, "num_heads must be a whole number above 0")
    refuse(features % int(num_heads) != 0, "features are no multiple of num_heads")


def check_mask(mask, shape):
    if mask is None:
        return
    refuse(not 2 <= mask.ndim <= 4, "a mask has rank 2 to 4")
    refuse(mask.dtype != np.bool_ and mask.dtype not in FLOATS, "a mask is Boolean or float")
    refuse(mask.shape[-1] != shape[-1], "last axis of the mask")
    for have, want in zip(mask.shape[::-1], shape[::-1]):
        refuse(have not in (1, want), "the mask does not broadcast")


def check_multi(query, key, value, w_query, w_key, w_value, w_output, num_heads, biases, mask):
    for array in (query, key, value):
        refuse(array.ndim != 3, "query, key and value have rank 3")
    check_multi_rest(query, key, value, w_query, w_key, w_value, w_output, num_heads, biases, mask)


def check_multi_rest(query, key, value, w_query, w_key, w_value, w_output, num_heads, biases, mask):
    features = query.shape[2]
    check_heads(features, num_heads)
    refuse(key.shape[2] != features or value.shape[2] != features, "widths differ")
    refuse(not query.shape[0] == key.shape[0] == value.shape[0], "batch sizes differ")
    refuse(key.shape[1] != value.shape[1], "key and value differ in length")
    for matrix in (w_query, w_key, w_value, w_output):
        refuse(matrix.shape != (features, features), "weight matrices are (D, D)")
    for bias in biases:
        refuse(bias is not None and bias.shape != (features,), "biases are (D,)")
    check_mask(mask, (query.shape[0], int(num_heads), query.shape[1], key.shape[1]))


def project(tokens, matrix, bias, dtype):
    with np.errstate(all="ignore"):
        result = widen(tokens, dtype) @ widen(matrix, dtype)
        if bias is not None:
            result = result + widen(bias, dtype)
    return result


def cut(x, heads):
    batch, tokens, features = x.shape
    return x.reshape(batch, tokens, heads, features // heads).transpose(0, 2, 1, 3)


def join(x):
    batch, heads, tokens, width = x.shape
    return x.transpose(0, 2, 1, 3).reshape(batch, tokens, heads * width)


def default_scale(width, dtype):
    return wide(dtype).type(1 / np.sqrt(width)) if width else wide(dtype).type(1)


def the_scale(scale, width, dtype):
    return default_scale(width, dtype) if scale is None else wide(dtype).type(scale)


def causal_allowed(queries, keys):
    return np.arange(keys)[None, :] <= np.arange(queries)[:, None]


def allowed_and_bias(mask, is_causal, shape, dtype):
    """Which keys may be attended, (B, H, Sq, Sk), and what is added to the scores there, or None."""
    allowed = np.ones(shape, bool)
    added = None
    if mask is not None:
        if is_boolean(mask):
            allowed &= mask
        else:
            added = widen(mask, dtype)
            allowed &= ~np.isneginf(added)
    if is_causal:
        allowed &= causal_allowed(shape[2], shape[3])
    return allowed, added


def dots(query, key):
    with np.errstate(all="ignore"):
        return query @ key.swapaxes(-1, -2)


def logits_of(scores, allowed, added):
    with np.errstate(all="ignore"):
        logits = scores if added is None else scores + added
    return np.where(allowed, logits, -np.inf).astype(scores.dtype)


def shares(logits):
    """Softmax along the last axis; a row of nothing but minus infinity gets zeros."""
    with np.errstate(all="ignore"):
        top = logits.max(axis=-1, keepdims=True, initial=-np.inf)
        top = np.where(np.isneginf(top), 0, top).astype(logits.dtype)
        exponentials = np.exp(logits - top)
        total = exponentials.sum(axis=-1, keepdims=True)
        return exponentials / np.where(total == 0, 1, total).astype(logits.dtype)


def weigh(weights, value, allowed):
    """weights @ value; what stands in a value that may not be attended has no effect."""
    finite = np.isfinite(value)
    with np.errstate(all="ignore"):
        result = weights @ np.where(finite, value, 0).astype(value.dtype)
        if not finite.all():
            odd = np.where(finite, 0, value).astype(value.dtype)
            for j in np.unique(np.nonzero(~finite)[-2]):
                part = weights[..., :, j, None] * odd[..., j, None, :]
                result = result + np.where(allowed[..., :, j, None] & ~finite[..., j, None, :], part, 0)
    return result.astype(value.dtype)


def attend(query, key, value, allowed, added, scale):
    """Heads that are cut already, in the dtype that is computed in: results and weights."""
    with np.errstate(all="ignore"):
        scores = dots(query, key) * scale
    weights = shares(logits_of(scores, allowed, added))
    return weigh(weights, value, allowed), weights


def finish(heads, weights, w_output, b_output, dtype):
    output = project(join(heads), w_output, b_output, dtype)
    return {"output": rounded(output, dtype), "weights": rounded(weights, dtype)}


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    check_multi(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                (b_query, b_key, b_value, b_output), mask)
    heads, dtype = int(num_heads), query.dtype
    q = cut(project(query, w_query, b_query, dtype), heads)
    k = cut(project(key, w_key, b_key, dtype), heads)
    v = cut(project(value, w_value, b_value, dtype), heads)
    shape = (q.shape[0], heads, q.shape[2], k.shape[2])
    allowed, added = allowed_and_bias(mask, is_causal, shape, dtype)
    mixed, weights = attend(q, k, v, allowed, added, the_scale(scale, q.shape[-1], dtype))
    return finish(mixed, weights, w_output, b_output, dtype)


# ---- single-head attention ----


def check_single(x, w_query, w_key, w_value, w_output):
    for array in (x, w_query, w_key, w_value):
        refuse(array.ndim != 2, "tokens and weight matrices have rank 2")
    refuse(any(x.shape[1] != matrix.shape[0] for matrix in (w_query, w_key, w_value)), "weight matrices have D rows")
    refuse(w_query.shape[1] != w_key.shape[1], "w_query and w_key differ in width")
    if w_output is not None:
        refuse(w_output.ndim != 2 or w_output.shape[0] != w_value.shape[1], "w_output has d_v rows")


def single_result(output, weights, scores, query, key, value, dtype):
    names = ("output", "weights", "scores", "query", "key", "value")
    return {name: rounded(array, dtype) for name, array in zip(names, (output, weights, scores, query, key, value))}


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    check_single(x, w_query, w_key, w_value, w_output)
    dtype = x.dtype
    q, k, v = (project(x, matrix, None, dtype) for matrix in (w_query, w_key, w_value))
    with np.errstate(all="ignore"):
        scores = dots(q, k) * the_scale(scale, q.shape[1], dtype)
        weights = shares(scores)
        output = weights @ v
    if w_output is not None:
        output = project(output, w_output, None, dtype)
    return single_result(output, weights, scores, q, k, v, dtype)


# ---- context vector ----


def check_context(encoder_states, decoder_state):
    refuse(encoder_states.ndim != 2 or decoder_state.ndim != 1, "ranks are 2 and 1")
    refuse(encoder_states.shape[1] != decoder_state.shape[0], "states differ in width")


def context_result(context, weights, scores, raw_scores, dtype):
    names = ("context", "weights", "scores", "raw_scores")
    return {name: rounded(array, dtype) for name, array in zip(names, (context, weights, scores, raw_scores))}


def context_vector(encoder_states, decoder_state, scale=None):
    check_context(encoder_states, decoder_state)
    dtype = encoder_states.dtype
    states, state = widen(encoder_states, dtype), widen(decoder_state, dtype)
    with np.errstate(all="ignore"):
        raw = states @ state
        scores = raw * the_scale(scale, state.shape[0], dtype)
        weights = shares(scores)
        context = weights @ states
    return context_result(context, weights, scores, raw, dtype)
