import math
import numpy as np

layout = "packed"


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
    Hkv, Ev = value.shape[1:]
    dt = query.dtype
    factor = dt.type(1 / math.sqrt(E) if scale is None else scale)
    left, right = window if window is not None else (None, None)
    pairs, heads = [], [0]
    distance = []
    for b in range(len(query_starts) - 1):
        q0, q1, k0, k1 = (int(x) for x in (query_starts[b], query_starts[b + 1], key_starts[b], key_starts[b + 1]))
        for i in range(q1 - q0):
            p = i + (k1 - k0 - (q1 - q0) if causal_alignment == "bottom_right" else 0)
            lo = 0 if left is None else max(0, p - left)
            hi = k1 - k0 if right is None else min(k1 - k0, p + right + 1)
            hi = min(hi, p + 1) if is_causal else hi
            for j in range(lo, hi):
                pairs.append((q0 + i, k0 + j, j))
                distance.append(abs(p - j))
            heads.append(len(pairs))
    qi, kj, col = (np.array([x[c] for x in pairs], np.int64) for c in range(3))
    # one flat list of scores; every query owns a segment of it, the last one up to a pad
    seg = np.array(heads[:-1], np.int64)
    who = np.repeat(np.arange(Tq), np.diff(heads))
    g = np.arange(Hq) // max(1, Hq // max(1, Hkv))
    with np.errstate(all="ignore"):
        s = np.einsum("phe,phe->ph", query[qi], key[kj][:, g]) * factor
        if softcap:
            s = np.tanh(s / dt.type(softcap)) * dt.type(softcap)
        if alibi_slopes is not None:
            s = s - np.array(distance, dt).reshape(-1, 1) * alibi_slopes
        ok = np.ones(s.shape, bool)
        if mask is not None:
            cols = np.broadcast_to(mask.reshape((1,) * (4 - mask.ndim) + mask.shape)[0, :, 0], (Hq, mask.shape[-1]))[:, col].T
            ok = cols if mask.dtype == bool else cols != -np.inf
            s = s if mask.dtype == bool else s + cols
        s = np.where(ok, s, -np.inf)
        top = np.maximum.reduceat(np.concatenate([s, np.full((1, Hq), -np.inf)]), seg) if Tq else np.zeros((0, Hq))
        if sinks is not None:
            top = np.maximum(top, sinks)
        ref = np.where(top == -np.inf, 0, top)
        e = np.where(ok, np.exp(s - ref[who]), 0)
        t = np.add.reduceat(np.concatenate([e, np.zeros((1, Hq))]), seg) if Tq else np.zeros((0, Hq))
        if sinks is not None:
            t = t + np.exp(sinks - ref)
        some = t != 0
        out = np.zeros((Tq, Hq, Ev), dt)
        np.add.at(out, who, np.where(ok[..., None], e[..., None] * value[kj][:, g], 0).astype(dt))
        out = out / np.where(some, t, 1)[..., None]
        lse = np.where(some, top + np.log(t), -np.inf)
    return {"output": out.astype(dt), "logsumexp": lse.astype(dt)}
