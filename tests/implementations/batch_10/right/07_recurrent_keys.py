"""Keys outermost: each key updates running maximum, sum and output of all queries at once (recurrent form)."""
import math
import numpy as np


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
    group = Hq // Hkv
    lengths = np.full(B, T) if key_lengths is None else np.asarray(key_lengths)
    counts = np.full(B, Sq) if query_lengths is None else np.asarray(query_lengths)
    start = np.full(B, P) if causal_alignment == "top_left" else lengths - counts
    pos = start[:, None, None] + np.arange(Sq)[None, None, :]
    if sinks is None:
        m = np.full((B, Hq, Sq), -np.inf, dtype)
        z = np.zeros((B, Hq, Sq), dtype)
    else:
        m = np.broadcast_to(sinks[None, :, None], (B, Hq, Sq)).astype(dtype)
        z = np.ones((B, Hq, Sq), dtype)
    acc = np.zeros((B, Hq, Sq, Ev), dtype)
    mask4 = None if mask is None else np.broadcast_to(mask, (B, Hq, Sq, T))
    for j in range(T):
        k_j, v_j = (past_key[:, :, j], past_value[:, :, j]) if j < P else (key[:, :, j - P], value[:, :, j - P])
        k_j, v_j = np.repeat(k_j, group, axis=1), np.repeat(v_j, group, axis=1)
        s = (query * k_j[:, :, None, :]).sum(-1) * factor
        if softcap:
            s = np.tanh(s / dtype.type(softcap)) * dtype.type(softcap)
        if alibi_slopes is not None:
            s = s - np.abs(pos - j).astype(dtype) * alibi_slopes[None, :, None]
        ok = np.broadcast_to((j < lengths)[:, None, None], s.shape)
        if is_causal:
            ok = ok & (pos >= j)
        if window is not None:
            if window[0] is not None:
                ok = ok & (j >= pos - window[0])
            if window[1] is not None:
                ok = ok & (j <= pos + window[1])
        if mask4 is not None:
            column = mask4[..., j]
            if column.dtype == np.bool_:
                ok = ok & column
            else:
                s = s + column
                ok = ok & ~np.isneginf(column)
        new = np.where(ok, np.maximum(m, s), m)
        with np.errstate(invalid="ignore"):
            keep = np.where(ok & (m != new), np.exp(m - new), 1).astype(dtype)
            add = np.where(ok & (s != -np.inf), np.exp(s - new), 0).astype(dtype)
        z = z * keep + add
        acc = acc * keep[..., None] + np.where(ok[..., None], add[..., None] * v_j[:, :, None, :], 0)
        m = new
    with np.errstate(divide="ignore"):
        return {"output": acc / np.where(z == 0, 1, z)[..., None], "logsumexp": np.where(z == 0, -np.inf, m + np.log(z))}

dtypes = ("float64", "float32")
