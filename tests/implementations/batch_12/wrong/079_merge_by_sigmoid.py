import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import check_sdpa

dtypes = ("float64", "float32")
conventions = {"masked_nonfinite": "propagates"}


def part(q, k, v, allowed, bias, factor, cap):
    """Attention to one part of the keys: its output and its logsumexp."""
    x = np.einsum("bhqe,bhke->bhqk", q, k) * factor
    if cap:
        x = cap * np.tanh(x / cap)
    if bias is not None:
        x = x + bias
    x = np.where(allowed, x, x.dtype.type(-np.inf))
    m = x.max(-1, initial=-np.inf)
    m = np.where(np.isneginf(m), x.dtype.type(0), m)
    e = np.exp(x - m[..., None])
    d = e.sum(-1)
    o = np.einsum("bhqk,bhke->bhqe", e, v) / np.where(d == 0, x.dtype.type(1), d)[..., None]
    return o, m + np.log(d)


def merge(a, b):
    """Two states (output, logsumexp) of disjoint keys become that of all of them."""
    (oa, la), (ob, lb) = a, b
    wa = 1 / (1 + np.exp(lb - la))
    wa = np.where(np.isneginf(la), np.zeros_like(la), wa)
    lse = np.where(np.isneginf(la) & np.isneginf(lb), la, la - np.log(wa))
    return oa * wa[..., None] + ob * (1 - wa)[..., None], lse


@np.errstate(all="ignore")
def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    """Cascade inference: the cached prefix and the new keys are attended apart, then merged; the sink is merged last."""
    check_sdpa(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
               causal_alignment, softcap, window)
    B, Hq, Sq, E = query.shape
    n_rep = Hq // key.shape[1]
    P = 0 if past_key is None else past_key.shape[2]
    T = P + key.shape[2]
    f = query.dtype.type
    factor = f(E ** -0.5 if scale is None else scale)
    cap = f(softcap) if softcap else None
    L = np.full(B, T) if key_lengths is None else np.asarray(key_lengths)
    N = np.full(B, Sq) if query_lengths is None else np.asarray(query_lengths)
    first = np.full(B, P) if causal_alignment == "top_left" else L - N
    p = (first[:, None] + np.arange(Sq))[:, None, :, None]

    def view(columns):
        """What of masks and biases belongs to these keys."""
        ok = np.broadcast_to(columns < L[:, None, None, None], (B, 1, Sq, len(columns)))
        if is_causal:
            ok = ok & (columns <= p)
        if window is not None:
            if window[0] is not None:
                ok = ok & (p - columns <= window[0])
            if window[1] is not None:
                ok = ok & (columns - p <= window[1])
        bias = None
        if alibi_slopes is not None:
            bias = -np.asarray(alibi_slopes)[None, :, None, None] * np.abs(p - columns).astype(f)
        if mask is not None:
            piece = mask[..., columns]
            if piece.dtype == bool:
                ok = ok & piece
            else:
                ok = ok & (piece != -np.inf)
                bias = piece if bias is None else bias + piece
        return ok, bias

    def expand(x):
        return np.repeat(x, n_rep, axis=1)

    ok, bias = view(np.arange(P, T))
    state = part(query, expand(key), expand(value), ok, bias, factor, cap)
    if P:
        ok, bias = view(np.arange(P))
        state = merge(part(query, expand(past_key), expand(past_value), ok, bias, factor, cap), state)
    if sinks is not None:
        lse = np.broadcast_to(np.asarray(sinks, f)[None, :, None], (B, Hq, Sq))
        state = merge(state, (np.zeros_like(state[0]), lse))
    return {"output": state[0], "logsumexp": state[1]}
