"""Right implementations after the pages, and parts for the other files. All is carried in float64 and rounded once."""

import math

import numpy as np

try:
    import ml_dtypes  # noqa: F401  (registers bfloat16)
except ImportError:
    pass

dtypes = ("float64", "float32", "bfloat16", "float16")


def wide(array):
    """A float64 copy, in C order."""
    return np.array(array, dtype=np.float64, order="C")


def carrier(dtype):
    """The dtype for files that carry in float32 what is not float64."""
    return np.float64 if np.dtype(dtype) == np.float64 else np.float32


def rounded(array, dtype):
    with np.errstate(all="ignore"):
        return np.asarray(array).astype(dtype, copy=True)


# ---------------------------------------------------------------- context vector


def check_context(encoder_states, decoder_state):
    if encoder_states.ndim != 2 or decoder_state.ndim != 1:
        raise ValueError("encoder states are (S, D), the decoder state is (D,)")
    if encoder_states.shape[1] != decoder_state.shape[0]:
        raise ValueError("encoder states and decoder state differ in width")


def softmax(scores, axis=-1):
    with np.errstate(all="ignore"):
        top = scores.max(axis=axis, keepdims=True, initial=-np.inf)
        top = np.where(top == -np.inf, 0, top)
        shares = np.exp(scores - top)
        total = shares.sum(axis=axis, keepdims=True)
        return shares / np.where(total == 0, 1, total)


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = np.asarray(encoder_states), np.asarray(decoder_state)
    check_context(encoder_states, decoder_state)
    dtype = encoder_states.dtype
    states, asks = wide(encoder_states), wide(decoder_state)
    if scale is None:
        scale = 1 / math.sqrt(states.shape[1])
    with np.errstate(all="ignore"):
        raw = states @ asks
        scores = raw * float(scale)
        weights = softmax(scores)
        context = weights @ states
    return {
        "context": rounded(context, dtype),
        "weights": rounded(weights, dtype),
        "scores": rounded(scores, dtype),
        "raw_scores": rounded(raw, dtype),
    }


# ---------------------------------------------------------------- single head


def check_single(x, w_query, w_key, w_value, w_output=None):
    if any(a.ndim != 2 for a in (x, w_query, w_key, w_value)):
        raise ValueError("tokens and weight matrices have rank 2")
    if any(w.shape[0] != x.shape[1] for w in (w_query, w_key, w_value)):
        raise ValueError("a weight matrix does not fit the tokens")
    if w_query.shape[1] != w_key.shape[1]:
        raise ValueError("queries and keys differ in width")
    if w_output is not None and (w_output.ndim != 2 or w_output.shape[0] != w_value.shape[1]):
        raise ValueError("the output matrix does not fit the values")


def single_inputs(x, w_query, w_key, w_value, w_output=None):
    """Checked arrays, the dtype, and float64 copies."""
    arrays = [None if a is None else np.asarray(a) for a in (x, w_query, w_key, w_value, w_output)]
    check_single(*arrays)
    return arrays[0].dtype, [None if a is None else wide(a) for a in arrays]


def single_outputs(dtype, output, weights, scores, query, key, value):
    named = {"output": output, "weights": weights, "scores": scores, "query": query, "key": key, "value": value}
    return {name: rounded(a, dtype) for name, a in named.items()}


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    dtype, (x, wq, wk, wv, wo) = single_inputs(x, w_query, w_key, w_value, w_output)
    if scale is None:
        scale = 1 / math.sqrt(wq.shape[1])
    with np.errstate(all="ignore"):
        query, key, value = x @ wq, x @ wk, x @ wv
        scores = query @ key.T * float(scale)
        weights = softmax(scores)
        output = weights @ value
        if wo is not None:
            output = output @ wo
    return single_outputs(dtype, output, weights, scores, query, key, value)


# ---------------------------------------------------------------- multi head


def check_ranks(query, key, value):
    if any(a.ndim != 3 for a in (query, key, value)):
        raise ValueError("query, key and value have rank 3")


def check_heads(width, num_heads):
    if num_heads <= 0 or width % num_heads:
        raise ValueError("the features are no multiple of the heads")


def check_fit(query, key, value, matrices, biases):
    width = query.shape[-1]
    if key.shape[0] != query.shape[0] or value.shape[0] != query.shape[0]:
        raise ValueError("batch sizes differ")
    if key.shape[1] != value.shape[1]:
        raise ValueError("key and value differ in length")
    if key.shape[2] != width or value.shape[2] != width:
        raise ValueError("query, key and value differ in width")
    if any(w.shape != (width, width) for w in matrices):
        raise ValueError("weight matrices are (D, D)")
    if any(b is not None and b.shape != (width,) for b in biases):
        raise ValueError("biases are (D,)")


def check_mask(mask, shape):
    if mask is None:
        return
    if not 2 <= mask.ndim <= 4 or mask.shape[-1] != shape[-1]:
        raise ValueError("the mask does not fit")
    for have, want in zip(mask.shape[::-1], shape[::-1]):
        if have not in (1, want):
            raise ValueError("the mask does not fit")


def array(a):
    return None if a is None else np.asarray(a)


def project(x, matrix, bias):
    with np.errstate(all="ignore"):
        y = wide(x) @ wide(matrix)
        return y if bias is None else y + wide(bias)


def split(x, num_heads):
    batch, tokens, width = x.shape
    return x.reshape(batch, tokens, num_heads, width // num_heads).transpose(0, 2, 1, 3)


def combine(x):
    batch, heads, tokens, width = x.shape
    return x.transpose(0, 2, 1, 3).reshape(batch, tokens, heads * width)


def exclusions(mask, is_causal, shape):
    """What may be attended, and what is added: (B, H, Sq, Sk) each, the second None without a float mask."""
    allowed, bias = np.ones(shape, dtype=bool), None
    if mask is not None:
        if mask.dtype == bool:
            allowed = allowed & mask
        else:
            bias = np.broadcast_to(wide(mask), shape)
            allowed = allowed & (bias != -np.inf)
    if is_causal:
        allowed = allowed & (np.arange(shape[3]) <= np.arange(shape[2])[:, None])
    return allowed, bias


def score(q, k, scale):
    with np.errstate(all="ignore"):
        return q @ k.swapaxes(-1, -2) * float(scale)


def share(scores, allowed, bias):
    """Softmax over the keys that may be attended; 0 elsewhere."""
    with np.errstate(all="ignore"):
        logits = scores if bias is None else scores + bias
        logits = np.where(allowed, logits, -np.inf)
        return np.where(allowed, softmax(logits), 0)


def mix(weights, v, allowed):
    """Weighted values; what is excluded has no effect, be it NaN."""
    with np.errstate(all="ignore"):
        if np.isfinite(v).all():
            return weights @ v
        terms = weights[..., None] * v[:, :, None]
        return np.where(allowed[..., None], terms, 0).sum(axis=-2)


def checked_multi(query, key, value, matrices, biases, mask, num_heads):
    check_ranks(query, key, value)
    check_heads(query.shape[-1], num_heads)
    check_fit(query, key, value, matrices, biases)
    shape = (query.shape[0], num_heads, query.shape[1], key.shape[1])
    check_mask(mask, shape)
    return shape


def default_scale(scale, width, num_heads):
    if scale is not None:
        return float(scale)
    return 1 / math.sqrt(width / num_heads) if width else 1.0


def multi_head_attention(
    query, key, value, w_query, w_key, w_value, w_output,
    b_query=None, b_key=None, b_value=None, b_output=None,
    mask=None, num_heads=1, is_causal=False, scale=None,
):
    query, key, value, mask = array(query), array(key), array(value), array(mask)
    matrices = [array(w) for w in (w_query, w_key, w_value, w_output)]
    biases = [array(b) for b in (b_query, b_key, b_value, b_output)]
    shape = checked_multi(query, key, value, matrices, biases, mask, num_heads)
    scale = default_scale(scale, query.shape[-1], num_heads)
    q, k, v = (split(project(*t), num_heads) for t in zip((query, key, value), matrices, biases))
    allowed, bias = exclusions(mask, is_causal, shape)
    weights = share(score(q, k, scale), allowed, bias)
    output = project(combine(mix(weights, v, allowed)), matrices[3], biases[3])
    return {"output": rounded(output, query.dtype), "weights": rounded(weights, query.dtype)}
