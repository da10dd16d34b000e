import math
import numpy as np

layout = "packed"


def _owner(starts, total):
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))[:total]


def _check(query, key, value, mask, axis, rank, rows, query_lengths=None, most=None):
    # axis: that of the key heads; rows: what has an entry for each sequence
    ok = query.ndim == rank and key.ndim == value.ndim == rank
    ok = ok and query.shape[-1] == key.shape[-1] and key.shape[:-1] == value.shape[:-1]
    ok = ok and (query.shape[1] % key.shape[axis] == 0 if key.shape[axis] else query.shape[1] == 0)
    ok = ok and len({len(x) for x in rows}) == 1
    if ok and query_lengths is not None:
        ok = query_lengths.shape == query.shape[:1] and ((query_lengths >= 0) & (query_lengths <= query.shape[2])).all()
    if ok and most is not None:
        ok = ((rows[1] >= 0) & (rows[1] <= most)).all()
    if ok and mask is not None:
        ok = 2 <= mask.ndim <= 4 and (mask.ndim == 2 or mask.shape[-3] in (1, query.shape[1]))
    if not ok:
        raise ValueError("these do not fit together")


def scaled_dot_product_attention(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    _check(query, key, value, mask, 1, 3, (query_starts, key_starts))
    if query_starts[-1] != len(query) or key_starts[-1] != len(key):
        raise ValueError("starts")
    Tq, Hq, E = query.shape
    Tk, Hkv, Ev = value.shape
    dt = query.dtype
    query_starts, key_starts = np.asarray(query_starts).astype(np.int64), np.asarray(key_starts).astype(np.int64)
    sq, sk = _owner(query_starts, Tq), _owner(key_starts, Tk)
    N, L = np.diff(query_starts), np.diff(key_starts)
    j = np.arange(Tk) - key_starts[sk]
    p = np.arange(Tq) - query_starts[sq]
    if causal_alignment == "bottom_right":
        p = p + (Tk - Tq)
    see = sq[:, None] == sk[None, :]
    far = j[None, :] - p[:, None]
    if is_causal:
        see = see & (far <= 0)
    if window is not None:
        left, right = window
        see = see & (far >= -left) if left is not None else see
        see = see & (far <= right) if right is not None else see
    scale = 1 / math.sqrt(E) if scale is None else scale
    out, lse = np.zeros((Tq, Hq, Ev), dt), np.full((Tq, Hq), -np.inf, dt)
    with np.errstate(all="ignore"):
        for h in range(Hq):
            g = h // (Hq // Hkv)
            x = (query[:, h] @ key[:, g].T) * dt.type(scale)
            if softcap:
                x = dt.type(softcap) * np.tanh(x / dt.type(softcap))
            if alibi_slopes is not None:
                x = x - alibi_slopes[h] * np.abs(far).astype(dt)
            ok = see
            if mask is not None:
                row = np.broadcast_to(mask.reshape((1,) * (4 - mask.ndim) + mask.shape)[0, :, 0], (Hq, mask.shape[-1]))[h][j]
                if mask.dtype == bool:
                    ok = ok & row
                else:
                    ok = ok & (row != -np.inf)
                    x = x + row
            x = np.where(ok, x, -np.inf)
            m = x.max(1, initial=-np.inf)
            if sinks is not None:
                m = np.maximum(m, sinks[h])
            m0 = np.where(m == -np.inf, 0, m)
            e = np.where(ok, np.exp(x - m0[:, None]), 0)
            t = e.sum(1) + (0 if sinks is None else np.exp(sinks[h] - m0))
            w = e / np.where(t == 0, 1, t)[:, None]
            for i in range(Tq):
                out[i, h] = w[i, ok[i]] @ value[ok[i], g]
            lse[:, h] = np.where(t == 0, -np.inf, m + np.log(t))
    return {"output": out, "logsumexp": lse}
