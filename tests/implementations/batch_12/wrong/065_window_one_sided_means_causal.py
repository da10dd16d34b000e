import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import check_sdpa

dtypes = ("float64", "float32")

@np.errstate(all="ignore")
def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    """A recurrence over the keys: every key updates the state of all queries at once."""
    check_sdpa(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
               causal_alignment, softcap, window)
    B, Hq, Sq, E = query.shape
    Hkv, Sk, Ev = key.shape[1], key.shape[2], value.shape[3]
    f = query.dtype.type
    P = 0 if past_key is None else past_key.shape[2]
    T = P + Sk
    heads = np.arange(Hq) // (Hq // Hkv)
    factor = f(E ** -0.5) if scale is None else f(scale)
    L = np.full(B, T) if key_lengths is None else np.asarray(key_lengths)
    N = np.full(B, Sq) if query_lengths is None else np.asarray(query_lengths)
    start = np.full(B, P) if causal_alignment == "top_left" else L - N
    p = (start[:, None] + np.arange(Sq))[:, None, :]
    left, right = window if window is not None else (None, None)
    if left is not None and right is None:
        right = 0
    if mask is not None:
        mask = np.broadcast_to(mask, (B, Hq, Sq, T))
    top = np.full((B, Hq, Sq), -np.inf, f)
    total = np.zeros((B, Hq, Sq), f)
    state = np.zeros((B, Hq, Sq, Ev), f)
    if sinks is not None:
        top = np.broadcast_to(np.asarray(sinks, f)[None, :, None], top.shape)
        total = np.where(np.isneginf(top), f(0), f(1))
    for j in range(T):
        k = past_key[:, :, j] if j < P else key[:, :, j - P]
        v = past_value[:, :, j] if j < P else value[:, :, j - P]
        x = (query * k[:, heads, None, :]).sum(-1) * factor
        if softcap:
            x = f(softcap) * np.tanh(x / f(softcap))
        if alibi_slopes is not None:
            x = x - np.asarray(alibi_slopes)[None, :, None] * np.abs(p - j).astype(f)
        ok = np.broadcast_to(j < L[:, None, None], (B, Hq, Sq))
        if is_causal:
            ok = ok & (j <= p)
        if left is not None:
            ok = ok & (j >= p - left)
        if right is not None:
            ok = ok & (j <= p + right)
        if mask is not None:
            column = mask[:, :, :, j]
            if column.dtype == bool:
                ok = ok & column
            else:
                x = x + column
                ok = ok & (column != -np.inf)
        x = np.where(ok, x, f(-np.inf))
        new = np.maximum(top, x)
        safe = np.where(np.isneginf(new), f(0), new)
        keep, add = np.exp(top - safe), np.exp(x - safe)
        total = total * keep + add
        state = state * keep[..., None] + np.where(ok[..., None], add[..., None] * v[:, heads, None, :], f(0))
        top = new
    out = state / np.where(total == 0, f(1), total)[..., None]
    lse = np.where(np.isneginf(top), f(0), top) + np.log(total)
    return {"output": out, "logsumexp": lse}
