import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import check_sdpa

dtypes = ("float64", "float32")
conventions = {"masked_nonfinite": "propagates"}


def repeat_kv(x, n_rep):
    b, heads, length, width = x.shape
    return np.broadcast_to(x[:, :, None], (b, heads, n_rep, length, width)).reshape(b, heads * n_rep, length, width)


def build_mask(B, Sq, T, offset, is_causal, window, key_lengths):
    """True where attention is possible, (B, 1, Sq, T)."""
    q_idx = np.arange(Sq)[None, :, None] + offset[:, None, None]
    kv_idx = np.arange(T)[None, None, :]
    rules = []
    if is_causal:
        rules.append(kv_idx <= q_idx)
    if window is not None and window[0] is not None:
        rules.append(kv_idx >= q_idx - window[0])
    if window is not None and window[1] is not None:
        rules.append(kv_idx <= q_idx + window[1])
    if key_lengths is not None:
        rules.append(kv_idx < np.asarray(key_lengths)[:, None, None])
    allowed = np.ones((B, Sq, T), bool)
    for rule in rules:
        allowed = allowed & rule
    return allowed[:, None], q_idx, kv_idx


def softmax_last(x):
    peak = x.max(axis=-1, keepdims=True, initial=-np.inf)
    x = np.exp(x - np.where(np.isneginf(peak), np.zeros_like(peak), peak))
    norm = x.sum(axis=-1, keepdims=True)
    return x / np.where(norm == 0, np.ones_like(norm), norm)


@np.errstate(all="ignore")
def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    """Eager attention of a model library: masks by rules, the sink as one more column that is dropped afterwards."""
    check_sdpa(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
               causal_alignment, softcap, window)
    B, Hq, Sq, E = query.shape
    past_len = 0
    if past_key is not None:
        past_len = past_key.shape[2]
        key = np.concatenate([past_key, key], axis=-2)
        value = np.concatenate([past_value, value], axis=-2)
    T = key.shape[-2]
    n_rep = Hq // key.shape[1]
    key, value = repeat_kv(key, n_rep), repeat_kv(value, n_rep)
    present_key, present_value = np.array(key), np.array(value)
    scaling = E ** -0.5 if scale is None else float(scale)
    attn = np.matmul(query, key.transpose(0, 1, 3, 2)) * scaling
    if softcap:
        attn = np.tanh(attn / float(softcap)) * float(softcap)
    if causal_alignment == "top_left":
        offset = np.full(B, past_len)
    else:
        q_len = np.full(B, Sq) if query_lengths is None else np.asarray(query_lengths)
        k_len = np.full(B, T) if key_lengths is None else np.asarray(key_lengths)
        offset = k_len - q_len
    allowed, q_idx, kv_idx = build_mask(B, Sq, T, offset, is_causal, window, key_lengths)
    if alibi_slopes is not None:
        attn = attn - np.asarray(alibi_slopes)[None, :, None, None] * np.abs(q_idx - kv_idx)[:, None].astype(attn.dtype)
    if mask is not None:
        mask = np.asarray(mask)
        if mask.dtype == bool:
            allowed = allowed & mask
        else:
            allowed = allowed & ~np.isneginf(mask)
            attn = attn + mask
    attn = np.where(allowed, attn, attn.dtype.type(-np.inf))
    if sinks is not None:
        column = np.broadcast_to(np.asarray(sinks).reshape(1, -1, 1, 1), (B, Hq, Sq, 1)).astype(attn.dtype)
        probs = softmax_last(np.concatenate([attn, column], axis=-1))[..., :-1]
    else:
        probs = softmax_last(attn)
    probs = np.where(allowed, probs, probs.dtype.type(0))
    return {"output": np.matmul(probs, value), "weights": probs, "present_key": present_key,
            "present_value": present_value}
