"""Tiles of queries and keys with an online softmax in powers of two, as a fused kernel does it."""
import numpy as np

BLOCK_M = 16
BLOCK_N = 16
LOG2E = 1.4426950408889634


def _check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, softcap, causal_alignment):
    """Refuse what does not fit; give the number of past tokens."""
    for name, array in (("query", query), ("key", key), ("value", value)):
        if array.ndim != 4:
            raise ValueError(f"{name} must have four axes")
    if not query.shape[0] == key.shape[0] == value.shape[0]:
        raise ValueError("batch sizes differ")
    if query.shape[3] != key.shape[3] or query.shape[3] == 0:
        raise ValueError("query and key differ in width")
    if key.shape[1] != value.shape[1] or key.shape[1] == 0 or query.shape[1] % key.shape[1]:
        raise ValueError("heads do not fit")
    if key.shape[2] != value.shape[2]:
        raise ValueError("key and value differ in length")
    if causal_alignment not in ("top_left", "bottom_right") or (softcap is not None and softcap < 0):
        raise ValueError("bad attribute")
    if (past_key is None) != (past_value is None):
        raise ValueError("past key and past value come together")
    past = 0
    if past_key is not None:
        past = past_key.shape[2]
        if key_lengths is not None or query_lengths is not None:
            raise ValueError("past and lengths do not come together")
        if past_key.shape != key.shape[:2] + (past, key.shape[3]):
            raise ValueError("past key does not fit")
        if past_value.shape != value.shape[:2] + (past, value.shape[3]):
            raise ValueError("past value does not fit")
    if mask is not None:
        full = (query.shape[0], query.shape[1], query.shape[2], past + key.shape[2])
        if not 2 <= mask.ndim <= 4 or mask.shape[-1] != full[-1]:
            raise ValueError("mask does not fit")
        if any(have not in (1, want) for have, want in zip(mask.shape[::-1], full[::-1])):
            raise ValueError("mask does not broadcast")
    for lengths, most in ((key_lengths, key.shape[2]), (query_lengths, query.shape[2])):
        if lengths is not None and (
            lengths.shape != query.shape[:1] or any(not 0 <= length <= most for length in lengths)
        ):
            raise ValueError("lengths do not fit")
    return past


def _weigh(p, v, keep):
    if np.isfinite(v).all():
        return p @ v
    return np.where(keep[:, :, None], p[:, :, None] * v[None], 0).sum(axis=1)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    past = _check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, softcap, causal_alignment)
    if past_key is not None:
        key = np.concatenate((past_key, key), axis=2)
        value = np.concatenate((past_value, value), axis=2)
    B, Hq, Sq, E = query.shape
    Hkv, Sk, Ev = value.shape[1:]
    real = np.promote_types(query.dtype, np.float32)
    if scale is None:
        scale = 1.0 / np.sqrt(float(E))
    left, right = (None, None) if window is None else window
    if is_causal:
        right = 0 if right is None else min(right, 0)
    if mask is not None:
        mask = np.broadcast_to(mask, (B, Hq, Sq, Sk))
    out = np.zeros((B, Hq, Sq, Ev), query.dtype)
    lse = np.zeros((B, Hq, Sq), query.dtype)
    with np.errstate(all="ignore"):
        for b in range(B):
            n_keys = Sk if key_lengths is None else int(key_lengths[b])
            n_queries = Sq if query_lengths is None else int(query_lengths[b])
            offset = past if causal_alignment == "top_left" else n_keys - n_queries
            for h in range(Hq):
                g = h // (Hq // Hkv)
                k_head, v_head = key[b, g].astype(real), value[b, g].astype(real)
                for q0 in range(0, Sq, BLOCK_M):
                    q1 = min(q0 + BLOCK_M, Sq)
                    q_tile = query[b, h, q0:q1].astype(real)
                    rows = np.arange(q0, q1) + offset
                    lo, hi = 0, n_keys
                    if left is not None:
                        lo = max(lo, int(rows[0]) - left)
                    if right is not None:
                        hi = min(hi, int(rows[-1]) + right + 1)
                    m = np.full(q1 - q0, -np.inf, real)
                    l = np.zeros(q1 - q0, real)
                    acc = np.zeros((q1 - q0, Ev), real)
                    if sinks is not None:
                        m[:] = sinks[h] * LOG2E
                        l[:] = 1
                    for k0 in range(lo, hi, BLOCK_N):
                        k1 = min(k0 + BLOCK_N, hi)
                        cols = np.arange(k0, k1)
                        s = (q_tile @ k_head[k0:k1].T) * real.type(scale)
                        if softcap:
                            s = real.type(softcap) * np.tanh(s / real.type(softcap))
                        ahead = cols[None, :] - rows[:, None]
                        if alibi_slopes is not None:
                            s = s - real.type(alibi_slopes[h]) * np.abs(ahead).astype(real)
                        keep = np.ones(s.shape, bool)
                        if left is not None:
                            keep &= ahead >= -left
                        if right is not None:
                            keep &= ahead <= right
                        if mask is not None:
                            tile = mask[b, h, q0:q1, k0:k1]
                            if mask.dtype == bool:
                                if not tile[0].any():
                                    continue
                                keep &= tile
                            else:
                                keep &= ~np.isneginf(tile)
                                s = s + tile
                        s = np.where(np.isneginf(s), s, np.maximum(s * real.type(LOG2E), np.finfo(real).min))
                        s = np.where(keep, s, -np.inf)
                        m_new = np.maximum(m, s.max(axis=1))
                        shift = np.where(np.isneginf(m_new), 0, m_new)
                        p = np.exp2(s - shift[:, None])
                        alpha = np.exp2(m - shift)
                        l = l * alpha + p.sum(axis=1)
                        acc = acc * alpha[:, None] + _weigh(p, v_head[k0:k1], keep)
                        m = m_new
                    out[b, h, q0:q1] = acc / np.where(l == 0, 1, l)[:, None]
                    lse[b, h, q0:q1] = np.where(l == 0, -np.inf, m / LOG2E + np.log(l))
    return out

dtypes = ("float64", "float32")
