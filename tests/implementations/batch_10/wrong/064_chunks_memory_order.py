"""Tokens before heads inside (B, S, H, E), queries in chunks, softmax through the logsumexp."""
import math
import numpy as np

CHUNK = 3


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    for lengths, most in ((key_lengths, key.shape[-2]), (query_lengths, query.shape[-2])):
        if lengths is not None and (
            lengths.shape != query.shape[:1] or any(not 0 <= length <= most for length in lengths)
        ):
            raise ValueError("lengths do not fit")
    if past_key is not None and key.ndim == value.ndim == 4 and (
        past_key.shape[:2] != key.shape[:2]
        or past_key.shape[3] != key.shape[3]
        or past_value.shape != (*past_key.shape[:3], value.shape[3])
    ):
        raise ValueError("past does not fit")
    if query.ndim != 4 or key.ndim != 4 or value.ndim != 4:
        raise ValueError("rank")
    B, Hq, Sq, E = query.shape
    _, Hkv, Sk, Ek = key.shape
    Ev = value.shape[3]
    if E != Ek or E == 0 or key.shape[0] != B or value.shape[:3] != key.shape[:3] or Hkv == 0 or Hq % Hkv:
        raise ValueError("shapes of query, key and value do not fit")
    if (past_key is None) != (past_value is None):
        raise ValueError("past_key without past_value")
    P = 0 if past_key is None else past_key.shape[2]
    T = P + Sk
    if mask is not None:
        if not 2 <= mask.ndim <= 4 or mask.shape[-1] != T:
            raise ValueError("mask")
        np.broadcast_shapes(mask.shape, (B, Hq, Sq, T))
        if any(m not in (1, n) for m, n in zip(mask.shape[::-1], (T, Sq, Hq, B))):
            raise ValueError("mask")
    dtype = query.dtype
    factor = dtype.type(1 / math.sqrt(E) if scale is None else scale)
    q = query.ravel(order="K").reshape(B, Hq, Sq, E).transpose(0, 2, 1, 3).reshape(B, Sq, Hkv, Hq // Hkv, E)
    k = key.transpose(0, 2, 1, 3)
    v = value.transpose(0, 2, 1, 3)
    if past_key is not None:
        k = np.concatenate([past_key.transpose(0, 2, 1, 3), k], axis=1)
        v = np.concatenate([past_value.transpose(0, 2, 1, 3), v], axis=1)
    G = Hq // Hkv
    limit = np.full(B, T) if key_lengths is None else key_lengths
    rows = np.full(B, Sq) if query_lengths is None else query_lengths
    origin = np.full(B, P) if causal_alignment == "top_left" else limit - rows
    out = np.empty((B, Sq, Hkv, G, Ev), dtype)
    lses = np.empty((B, Sq, Hkv, G), dtype)
    for c in range(0, Sq, CHUNK):
        part = q[:, c:c + CHUNK]
        n = part.shape[1]
        s = np.einsum("bqgre,bkge->bqgrk", part, k) * factor
        if softcap:
            s = np.tanh(s / dtype.type(softcap)) * dtype.type(softcap)
        p = (origin[:, None] + np.arange(c, c + n))[:, :, None, None, None]
        j = np.arange(T)
        if alibi_slopes is not None:
            s = s - alibi_slopes.reshape(Hkv, G)[None, None, :, :, None] * np.abs(p - j).astype(dtype)
        hide = np.broadcast_to(j >= limit[:, None, None, None, None], s.shape).copy()
        if is_causal:
            hide |= j > p
        if window is not None:
            lo, hi = window
            hide |= (False if lo is None else j < p - lo) | (False if hi is None else j > p + hi)
        if mask is not None:
            m = np.broadcast_to(mask, (B, Hq, Sq, T))[:, :, c:c + n].transpose(0, 2, 1, 3).reshape(B, n, Hkv, G, T)
            if m.dtype == np.bool_:
                hide |= ~m
            else:
                s = s + m
                hide |= m == -np.inf
        s = np.where(hide, dtype.type(-np.inf), s)
        if sinks is not None:
            s = np.concatenate([s, np.broadcast_to(sinks.reshape(Hkv, G)[None, None, :, :, None], s.shape[:-1] + (1,))], -1)
        with np.errstate(divide="ignore"):
            lse = np.logaddexp.reduce(s, axis=-1, initial=-np.inf).astype(dtype)
        w = np.exp(s - np.where(lse == -np.inf, 0, lse)[..., None]).astype(dtype)
        out[:, c:c + n] = np.einsum("bqgrk,bkgv->bqgrv", w[..., :T], v)
        lses[:, c:c + n] = lse
    return out.reshape(B, Sq, Hq, Ev).transpose(0, 2, 1, 3)


conventions = {"masked_nonfinite": "propagates"}

dtypes = ("float64", "float32")
