import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import check_multi, check_single, refuse

dtypes = ("float64", "float32")
conventions = {"masked_nonfinite": "propagates"}


def softmax(x, axis=-1):
    """One lane at a time, through the logarithm of the sum."""
    if axis is None:
        return softmax(x.reshape(-1)).reshape(x.shape)
    lanes = np.moveaxis(x, axis, -1)
    out = np.empty(lanes.shape, x.dtype)
    for i in np.ndindex(lanes.shape[:-1]):
        top = lanes[i].max(initial=-np.inf)
        e = np.exp(lanes[i] - top)
        out[i] = e / e.sum()
    return np.ascontiguousarray(np.moveaxis(out, -1, axis))


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    keys = query_length if key_length is None else key_length
    return np.array([[(0.0 if j - i <= offset else -np.inf) if additive else j - i <= offset for j in range(keys)]
                     for i in range(query_length)], float if additive else bool).reshape(query_length, keys)


def split_heads(x, num_heads):
    refuse(x.ndim != 3 or num_heads < 1 or x.shape[2] % num_heads, "heads do not divide the features")
    return np.stack(np.split(x, num_heads, axis=2), axis=1)


def combine_heads(x):
    refuse(x.ndim != 4, "four axes")
    b, h, s, e = x.shape
    out = np.empty((b, s, h * e), x.dtype)
    for i in range(h):
        out[:, :, i * e:(i + 1) * e] = x[:, i]
    return out


@np.errstate(all="ignore")
def attend(q, k, v, ok, bias, factor):
    """One head, (n, E), (m, E), (m, Ev)."""
    s = np.einsum("ie,je->ij", q, k) * factor
    if bias is not None:
        s = s + bias
    s = np.where(ok, s, s.dtype.type(-np.inf))
    top = s.max(1, keepdims=True, initial=-np.inf)
    w = np.exp(s - np.where(np.isneginf(top), s.dtype.type(0), top))
    total = w.sum(1, keepdims=True)
    w = w / np.where(total == 0, s.dtype.type(1), total)
    return w @ v, w


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    """Every head has its columns of the matrices; the output is the sum over heads of their rows of w_output. The key
    bias is left out: it changes no weight."""
    check_multi(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask, num_heads)
    B, n, D = query.shape
    m, width = key.shape[1], D // num_heads
    f = query.dtype.type
    output = np.zeros((B, n, D), f)
    weights = np.zeros((B, num_heads, n, m), f)
    full = None if mask is None else np.broadcast_to(mask, (B, num_heads, n, m))
    for b in range(B):
        for h in range(num_heads):
            part = slice(h * width, (h + 1) * width)
            q, k, v = query[b] @ w_query[:, part], key[b] @ w_key[:, part], value[b] @ w_value[:, part]
            q = q if b_query is None else q + b_query[part]
            v = v if b_value is None else v + b_value[part]
            ok, bias = np.ones((n, m), bool), None
            if is_causal:
                ok = np.tri(n, m, dtype=bool)
            if full is not None and full.dtype == bool:
                ok = ok & full[b, h]
            elif full is not None:
                bias, ok = full[b, h], ok & ~np.isneginf(full[b, h])
            o, weights[b, h] = attend(q, k, v, ok, bias, f(width ** -0.5 if scale is None else scale))
            output[b] += o @ w_output[part]
    return {"output": output if b_output is None else output + b_output, "weights": weights}


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    """Value and output matrix are merged first."""
    check_single(x, w_query, w_key, w_value, w_output)
    q, k = x @ w_query, x @ w_key
    v = x @ (w_value if w_output is None else w_value @ w_output)
    return attend(q, k, v, np.True_, None, x.dtype.type(q.shape[1] ** -0.5 if scale is None else scale))[0]


def context_vector(encoder_states, decoder_state, scale=None):
    refuse(encoder_states.ndim != 2 or decoder_state.shape != encoder_states.shape[1:], "width")
    f = encoder_states.dtype.type
    o, w = attend(decoder_state[None], encoder_states, encoder_states, np.True_, None,
                  f(len(decoder_state) ** -0.5 if scale is None else scale))
    return {"context": o[0], "weights": w[0]}


def glorot_normal(fan_in, fan_out, seed):
    """Box and Muller."""
    u = np.random.default_rng([seed, 7]).random((2, fan_in * fan_out))
    z = np.sqrt(-2 * np.log1p(-u[0])) * np.cos(2 * np.pi * u[1])
    return (z * (2 / (fan_in + fan_out)) ** 0.5).reshape(fan_in, fan_out)
