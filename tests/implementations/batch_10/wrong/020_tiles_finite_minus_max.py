"""Tiles of queries and keys with an online softmax in base 2, as a fused kernel would do it."""
import math
import numpy as np

BLOCK_M, BLOCK_N = 4, 8
LOG2E = 1.4426950408889634


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
    factor = 1.0 / math.sqrt(E) if scale is None else scale
    group = Hq // Hkv
    left, right = (None, None) if window is None else window
    if is_causal:
        right = 0 if right is None else min(right, 0)
    k_all = key if past_key is None else np.concatenate((past_key, key), axis=2)
    v_all = value if past_value is None else np.concatenate((past_value, value), axis=2)
    if mask is not None:
        mask = np.broadcast_to(mask, (B, Hq, Sq, T))
    out = np.zeros((B, Hq, Sq, Ev), dtype)
    lse = np.zeros((B, Hq, Sq), dtype)
    for b in range(B):
        n_keys = T if key_lengths is None else int(key_lengths[b])
        n_rows = Sq if query_lengths is None else int(query_lengths[b])
        start = P if causal_alignment == "top_left" else n_keys - n_rows
        for h in range(Hq):
            k, v = k_all[b, h // group], v_all[b, h // group]
            for m0 in range(0, n_rows, BLOCK_M):
                rows = np.arange(m0, min(m0 + BLOCK_M, n_rows))
                pos = start + rows
                q = query[b, h, rows]
                if sinks is None:
                    m_i = np.full(len(rows), -1e6, dtype)
                    l_i = np.zeros(len(rows), dtype)
                else:
                    m_i = np.full(len(rows), sinks[h] * LOG2E, dtype)
                    l_i = np.ones(len(rows), dtype)
                acc = np.zeros((len(rows), Ev), dtype)
                lo = 0 if left is None else max(0, pos[0] - left)
                hi = n_keys if right is None else min(n_keys, pos[-1] + right + 1)
                lo = lo // BLOCK_N * BLOCK_N
                for n0 in range(lo, hi, BLOCK_N):
                    cols = np.arange(n0, min(n0 + BLOCK_N, hi))
                    s = q @ k[cols].T
                    s = s * dtype.type(factor)
                    if softcap:
                        s = dtype.type(softcap) * np.tanh(s / dtype.type(softcap))
                    if alibi_slopes is not None:
                        s = s - alibi_slopes[h] * np.abs(pos[:, None] - cols).astype(dtype)
                    keep = np.ones(s.shape, bool)
                    if left is not None:
                        keep &= cols >= pos[:, None] - left
                    if right is not None:
                        keep &= cols <= pos[:, None] + right
                    if mask is not None:
                        tile = mask[b, h][np.ix_(rows, cols)]
                        if tile.dtype == np.bool_:
                            keep &= tile
                        else:
                            s = s + tile
                            keep &= tile != -np.inf
                    s = np.where(np.isneginf(s), s, np.maximum(s * dtype.type(LOG2E), np.finfo(dtype).min))
                    s = np.where(keep, s, -np.inf).astype(dtype)
                    m_new = np.maximum(m_i, s.max(axis=1))
                    m_use = np.where(m_new == -np.inf, 0, m_new).astype(dtype)
                    alpha = np.exp2(m_i - m_use)
                    p = np.exp2(s - m_use[:, None])
                    l_i = l_i * alpha + p.sum(axis=1)
                    acc = acc * alpha[:, None] + p @ np.where(keep.any(axis=0)[:, None], v[cols], 0)
                    m_i = m_new
                with np.errstate(divide="ignore"):
                    out[b, h, rows] = acc / np.where(l_i == 0, 1, l_i)[:, None]
                    lse[b, h, rows] = (m_i + np.log2(l_i)) / LOG2E
    return out


conventions = {"masked_nonfinite": "propagates"}

dtypes = ("float64", "float32")
