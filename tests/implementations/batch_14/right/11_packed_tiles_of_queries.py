"""Tiles of queries that cross the borders of sequences; keys from the last to the first."""
import numpy as np

layout = "packed"
TILE = 5


def scaled_dot_product_attention(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    if query.ndim != 3 or key.ndim != 3 or value.ndim != 3 or key.shape[:2] != value.shape[:2]:
        raise ValueError("shapes")
    if key.shape[2] != query.shape[2] or query.shape[1] % max(key.shape[1], 1):
        raise ValueError("heads or features")
    dtype = query.dtype.type
    hq, group = query.shape[1], query.shape[1] // max(key.shape[1], 1)
    starts, key_starts = [int(x) for x in query_starts], [int(x) for x in key_starts]
    owner = [b for b in range(len(starts) - 1) for _ in range(starts[b + 1] - starts[b])]
    factor = dtype(query.shape[2] ** -0.5) if scale is None else dtype(scale)
    out = np.zeros(query.shape[:2] + value.shape[2:], dtype)
    lse = np.full(query.shape[:2], -np.inf, dtype)
    slope = None if alibi_slopes is None else np.asarray(alibi_slopes, dtype)
    with np.errstate(all="ignore"):
        for t in range(0, query.shape[0], TILE):
            rows = range(t, min(t + TILE, query.shape[0]))
            m = np.full((len(rows), hq), -np.inf, dtype)
            total = np.zeros((len(rows), hq), dtype)
            acc = np.zeros((len(rows), hq, value.shape[2]), dtype)
            if sinks is not None:
                m[:], total[:] = np.asarray(sinks, dtype), 1
                total[np.isneginf(m)] = 0
            lowest = key_starts[owner[rows[0]]]
            highest = key_starts[owner[rows[-1]] + 1]
            for token in range(highest - 1, lowest - 1, -1):
                for r, i in enumerate(rows):
                    b = owner[i]
                    if not key_starts[b] <= token < key_starts[b + 1]:
                        continue
                    j = token - key_starts[b]
                    p = i - starts[b]
                    if causal_alignment == "bottom_right":
                        p += key_starts[b + 1] - key_starts[b] - (starts[b + 1] - starts[b])
                    if is_causal and j > p:
                        continue
                    if window is not None and (window[0] is not None and j < p - window[0]
                                               or window[1] is not None and j > p + window[1]):
                        continue
                    k = np.repeat(key[token], group, axis=0)
                    s = (query[i] * k)[:, ::-1].sum(-1) * factor
                    if softcap:
                        s = dtype(softcap) * np.tanh(s / dtype(softcap))
                    if slope is not None:
                        s = s - slope * dtype(abs(p - j))
                    may = np.ones(hq, bool)
                    if mask is not None:
                        cell = np.broadcast_to(np.asarray(mask).reshape((-1, mask.shape[-1]))[:, j], (hq,))
                        if cell.dtype == bool:
                            may = cell
                        else:
                            may, s = ~np.isneginf(cell), s + cell
                    new = np.where(may, np.maximum(m[r], s), m[r])
                    base = np.where(np.isneginf(new), 0, new)
                    keep = np.exp(m[r] - base)
                    w = np.where(may, np.exp(s - base), 0)
                    keep = np.where(may, keep, 1)
                    total[r] = total[r] * keep + w
                    v = np.repeat(value[token], group, axis=0)
                    acc[r] = acc[r] * keep[:, None] + np.where(may[:, None], w[:, None] * v, 0)
                    m[r] = new
            for r, i in enumerate(rows):
                some = total[r] != 0
                out[i][some] = acc[r][some] / total[r][some][:, None]
                lse[i] = np.where(some, m[r] + np.log(total[r]), -np.inf)
    return {"output": out, "logsumexp": lse}
