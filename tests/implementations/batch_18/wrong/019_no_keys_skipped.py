import numpy as np

layout = "packed"
ROWS, COLS = 4, 8  # queries and keys of a tile


def tile(s, ok, v, m, l, acc):
    """One step of the online softmax."""
    s = np.where(ok, s, -np.inf)
    new = np.maximum(m, s.max(axis=1))
    safe = np.where(new == -np.inf, 0, new)
    w = np.where(ok, np.exp(s - safe[:, None]), 0)
    fade = np.where(m == -np.inf, 0, np.exp(m - safe))
    finite = np.isfinite(v)
    add = w @ np.where(finite, v, 0)
    for j in np.flatnonzero(~finite.all(axis=1)):
        add += np.where(ok[:, j, None], w[:, j, None] * np.where(finite[j], 0, v[j]), 0)
    return new, l * fade + w.sum(axis=1), acc * fade[:, None] + add


def scaled_dot_product_attention(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    """In the manner of FlashAttention's varlen kernels: one tile of queries at a time, tiles of keys within."""
    q, k, v = (np.asarray(x) for x in (query, key, value))
    if q.ndim != 3 or k.ndim != 3 or v.ndim != 3 or q.shape[2] != k.shape[2]:
        raise ValueError("shapes")
    if k.shape[:2] != v.shape[:2] or q.shape[1] % max(k.shape[1], 1):
        raise ValueError("heads or lengths")
    if len(query_starts) != len(key_starts):
        raise ValueError("starts")
    kind, hq, group = q.dtype, q.shape[1], q.shape[1] // max(k.shape[1], 1)
    t = np.dtype(np.float64) if kind == np.float64 else np.dtype(np.float32)
    alpha = t.type(1 / np.sqrt(q.shape[2])) if scale is None else t.type(scale)
    left, right = (None, None) if window is None else window
    if is_causal:
        right = 0 if right is None else min(right, 0)
    out = np.zeros((q.shape[0], hq, v.shape[2]), kind)
    lse = np.full((q.shape[0], hq), -np.inf, t)
    if mask is not None:
        mask = np.asarray(mask)
        mask = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)[0, :, 0]
        if len(key_starts) > 1 and mask.shape[-1] < np.diff(key_starts).max():
            raise ValueError("mask")
    for b in range(len(query_starts) - 1):
        q0, q1, k0, k1 = (int(x) for x in (query_starts[b], query_starts[b + 1], key_starts[b], key_starts[b + 1]))
        n, length = q1 - q0, k1 - k0
        move = length - n if causal_alignment == "bottom_right" else 0
        if length == 0:  # nothing to attend to
            continue
        for h in range(hq):
            g = h // group
            for i0 in range(0, n, ROWS):
                i1 = min(i0 + ROWS, n)
                p = np.arange(i0, i1) + move
                m = np.full(i1 - i0, -np.inf if sinks is None else sinks[h], t)
                l = np.full(i1 - i0, 0 if sinks is None else 1, t)
                acc = np.zeros((i1 - i0, v.shape[2]), t)
                first = 0 if left is None else max(0, (i0 + move - left) // COLS)
                last = length if right is None else min(length, i1 + move + right)
                with np.errstate(all="ignore"):
                    for j0 in range(first * COLS, last, COLS):
                        j1 = min(j0 + COLS, length)
                        j = np.arange(j0, j1)
                        s = (q[q0 + i0:q0 + i1, h].astype(t) @ k[k0 + j0:k0 + j1, g].astype(t).T) * alpha
                        if softcap:
                            s = np.tanh(s / t.type(softcap)) * t.type(softcap)
                        far = p[:, None] - j
                        if alibi_slopes is not None:
                            s = s - t.type(alibi_slopes[h]) * np.abs(far).astype(t)
                        ok = np.ones(s.shape, bool)
                        if left is not None:
                            ok &= far <= left
                        if right is not None:
                            ok &= -far <= right
                        if mask is not None:
                            line = mask[h if len(mask) > 1 else 0, j0:j1]
                            ok &= line if line.dtype == bool else line != -np.inf
                            if line.dtype != bool:
                                s = s + line.astype(t)
                        m, l, acc = tile(s, ok, v[k0 + j0:k0 + j1, g].astype(t), m, l, acc)
                    out[q0 + i0:q0 + i1, h] = (acc / np.where(l == 0, 1, l)[:, None]).astype(kind)
                    lse[q0 + i0:q0 + i1, h] = np.where(l == 0, -np.inf, m + np.log(l))
    return {"output": out, "logsumexp": lse}
