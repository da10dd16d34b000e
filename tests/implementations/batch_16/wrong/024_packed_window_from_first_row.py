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
    output = np.zeros((Tq, Hq, Ev), dt)
    logsumexp = np.zeros((Tq, Hq), dt)
    left, right = window if window is not None else (None, None)
    if mask is not None:
        mask = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)[0, :, 0]
    for b in range(len(query_starts) - 1):
        q0, q1, k0, k1 = (int(x) for x in (query_starts[b], query_starts[b + 1], key_starts[b], key_starts[b + 1]))
        N, L = q1 - q0, k1 - k0
        shift = L - N if causal_alignment == "bottom_right" else 0
        for i in range(N):
            p = i + shift
            tile = i // 4 * 4 + shift             # keys are loaded for four queries at once
            lo = 0 if left is None else max(0, tile - left)
            hi = L if right is None else min(L, p + right + 1)
            if is_causal:
                hi = min(hi, p + 1)
            pos = np.arange(lo, max(lo, hi))
            for h in range(Hq):
                g = h * Hkv // Hq
                seen = pos
                if mask is not None:
                    row = mask[h if mask.shape[0] > 1 else 0]
                    seen = pos[row[pos] if row.dtype == bool else row[pos] != -np.inf]
                with np.errstate(all="ignore"):
                    s = np.array([query[q0 + i, h] @ key[k0 + j, g] for j in seen], dt) * factor
                    if softcap:
                        s = np.tanh(s / dt.type(softcap)) * dt.type(softcap)
                    if alibi_slopes is not None:
                        s = s - alibi_slopes[h] * abs(seen - p).astype(dt)
                    if mask is not None and mask.dtype != bool:
                        s = s + row[seen]
                    top = s.max(initial=-np.inf)
                    if sinks is not None:
                        top = np.maximum(top, sinks[h])
                    if top == -np.inf:
                        logsumexp[q0 + i, h] = -np.inf
                        continue
                    e = np.exp(s - top)
                    total = e.sum() + (np.exp(sinks[h] - top) if sinks is not None else 0)
                    for c, j in enumerate(seen):
                        output[q0 + i, h] += e[c] / total * value[k0 + j, g]
                    logsumexp[q0 + i, h] = top + np.log(total)
    return {"output": output, "logsumexp": logsumexp}
