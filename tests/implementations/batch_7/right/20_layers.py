import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


conventions = {"masked_nonfinite": "propagates"}


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    """w_value times w_output first, queries one by one."""
    factor = 1 / math.sqrt(w_query.shape[1]) if scale is None else scale
    query, key = np.einsum("sd,dk->sk", x, w_query), np.einsum("sd,dk->sk", x, w_key)
    mixed = x @ (w_value if w_output is None else w_value @ w_output)
    weights, out = [], []
    for q in query:
        s = (key * q).sum(axis=1) * factor
        e = np.exp(s - s.max())
        weights.append(e / e.sum())
        out.append((mixed * e[:, None]).sum(axis=0) / e.sum())
    return {"output": np.array(out).astype(x.dtype), "weights": np.array(weights).astype(x.dtype)}


def context_vector(encoder_states, decoder_state, scale=None):
    """One state at a time, with a running maximum."""
    if encoder_states.ndim != 2 or encoder_states.shape[1:] != decoder_state.shape:
        raise ValueError("widths differ")
    d = encoder_states.dtype
    factor = 1 / math.sqrt(len(decoder_state)) if scale is None else scale
    m, l, acc = -math.inf, 0.0, np.zeros(len(decoder_state))
    for state in encoder_states.astype(np.float64):
        s = float(state @ decoder_state.astype(np.float64)) * factor
        top = max(m, s)
        down, up = math.exp(m - top), math.exp(s - top)
        m, l, acc = top, l * down + up, acc * down + up * state
    return (acc / l).astype(d)


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, num_heads=1, is_causal=False, scale=None):
    """Head by head, each with its own rows of the output matrix; a key bias is left out, as it changes nothing."""
    if query.ndim != 3 or key.ndim != 3 or value.ndim != 3:
        raise ValueError("rank")
    B, SQ, D = query.shape
    if D % num_heads:
        raise ValueError("heads")
    width = D // num_heads
    factor = 1 / math.sqrt(width) if scale is None else scale
    out = np.zeros((B, SQ, D), query.dtype)
    for h in range(num_heads):
        at = slice(h * width, (h + 1) * width)
        q = query @ w_query[:, at] + (0 if b_query is None else b_query[at])
        k = key @ w_key[:, at]
        v = value @ w_value[:, at] + (0 if b_value is None else b_value[at])
        s = q @ k.swapaxes(1, 2) * factor
        if mask is not None:
            part = np.broadcast_to(mask, (B, num_heads) + s.shape[1:])[:, h]
            s = np.where(part, s, s.dtype.type(-np.inf)) if mask.dtype == bool else s + part
        if is_causal:
            s = np.where(np.tri(*s.shape[1:], dtype=bool), s, s.dtype.type(-np.inf))
        top = s.max(axis=2, keepdims=True)
        e = np.exp(s - np.where(top == -np.inf, s.dtype.type(0), top))
        total = e.sum(axis=2, keepdims=True)
        out = out + (e @ v / np.where(total == 0, s.dtype.type(1), total)) @ w_output[at]
    return out if b_output is None else out + b_output
