import math

import numpy as np

BLOCK_M = 16
BLOCK_N = 8
NEG = -np.inf


def weigh(p, v, see):
    if np.isfinite(v).all():
        return p @ v
    return np.where(see[:, :, None], p[:, :, None] * v[None], p.dtype.type(0)).sum(axis=1)


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
    if {query.ndim, key.ndim, value.ndim} != {4}:
        raise ValueError("rank")
    b_, hq_, sq_, e_ = query.shape
    hk_, sk_ = key.shape[1:3]
    if key.shape[0] != b_ or key.shape[3] != e_:
        raise ValueError("key")
    if value.shape[:3] != (b_, hk_, sk_):
        raise ValueError("value")
    if hq_ % hk_ != 0:
        raise ValueError("groups")
    if mask is not None:
        all_keys = sk_ if past_key is None else sk_ + past_key.shape[2]
        if mask.ndim not in (2, 3, 4) or mask.shape[-1] != all_keys:
            raise ValueError("mask")
        for have, need in zip(reversed(mask.shape), (all_keys, sq_, hq_, b_)):
            if have != need and have != 1:
                raise ValueError("mask")
    acc_t = np.float64 if query.dtype == np.float64 else np.float32
    past = 0 if past_key is None else past_key.shape[2]
    if past:
        key = np.concatenate([past_key, key], axis=2)
        value = np.concatenate([past_value, value], axis=2)
    B, Hq, Sq, E = query.shape
    Hkv, Sk, Ev = value.shape[1:]
    group = Hq // Hkv
    sm_scale = acc_t(1 / math.sqrt(E) if scale is None else scale)
    left, right = window if window is not None else (None, None)
    if mask is not None:
        mask = np.broadcast_to(mask, (B, Hq, Sq, Sk))
    out = np.zeros((B, Hq, Sq, Ev), query.dtype)
    lse = np.zeros((B, Hq, Sq), query.dtype)
    for b in range(B):
        n_keys = Sk if key_lengths is None else int(key_lengths[b])
        n_queries = Sq if query_lengths is None else int(query_lengths[b])
        shift = past if causal_alignment == "top_left" else n_keys - n_queries
        for h in range(Hq):
            hk = h // group
            for q0 in range(0, Sq, BLOCK_M):
                q1 = min(q0 + BLOCK_M, Sq)
                pos = np.arange(q0, q1) + shift
                qt = query[b, h, q0:q1].astype(acc_t)
                m = np.full(q1 - q0, NEG, acc_t)
                l = np.zeros(q1 - q0, acc_t)
                acc = np.zeros((q1 - q0, Ev), acc_t)
                begin, end = 0, n_keys
                if is_causal:
                    end = min(end, pos[-1] + 1)
                if right is not None:
                    end = min(end, pos[-1] + right + 1)
                if left is not None:
                    begin = max(0, pos[0] - left)
                for k0 in range(begin // BLOCK_N * BLOCK_N, end, BLOCK_N):
                    k1 = min(k0 + BLOCK_N, n_keys)
                    cols = np.arange(k0, k1)
                    s = qt @ key[b, hk, k0:k1].astype(acc_t).T * sm_scale
                    if softcap:
                        s = acc_t(softcap) * np.tanh(s / acc_t(softcap))
                    if alibi_slopes is not None:
                        s = s - acc_t(alibi_slopes[h]) * np.abs(pos[:, None] - cols[None]).astype(acc_t)
                    see = np.ones(s.shape, bool)
                    if is_causal:
                        see &= cols[None] <= pos[:, None]
                    if left is not None:
                        see &= cols[None] >= pos[:, None] - left
                    if right is not None:
                        see &= cols[None] <= pos[:, None] + right
                    if mask is not None:
                        tile = mask[b, h, q0:q1, k0:k1]
                        if tile.dtype == bool:
                            see &= tile
                        else:
                            s = s + tile.astype(acc_t)
                            see &= tile != NEG
                    s = np.where(see, s, acc_t(NEG))
                    if np.all(s.max(axis=1) < m - 16):
                        continue
                    m_new = np.maximum(m, s.max(axis=1))
                    m_ref = np.where(m_new == NEG, acc_t(0), m_new)
                    p = np.where(see, np.exp(s - m_ref[:, None]), acc_t(0))
                    alpha = np.exp(m - m_ref)
                    l = l * alpha + p.sum(axis=1)
                    acc = acc * alpha[:, None] + weigh(p, value[b, hk, k0:k1].astype(acc_t), see)
                    m = m_new
                if sinks is not None:
                    sink = acc_t(sinks[h])
                    m_new = np.maximum(m, sink)
                    alpha = np.exp(m - m_new)
                    l = l * alpha + np.exp(sink - m_new)
                    acc = acc * alpha[:, None]
                    m = m_new
                out[b, h, q0:q1] = acc / np.where(l == 0, acc_t(1), l)[:, None]
                lse[b, h, q0:q1] = np.where(m == NEG, acc_t(0), m) + np.log(l)
    return out

dtypes = ("float64", "float32")
