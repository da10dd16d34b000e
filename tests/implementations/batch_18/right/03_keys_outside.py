import numpy as np

layout = "packed"
conventions = {"logsumexp_base": "2"}
LOG2E = 1.4426950408889634


def scaled_dot_product_attention(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    """Keys in the outer loop, last one first; all queries of the sequence meet it. Powers of 2."""
    query, key, value = np.asarray(query), np.asarray(key), np.asarray(value)
    if query.ndim != 3 or key.ndim != 3 or value.ndim != 3 or query.shape[2] != key.shape[2]:
        raise ValueError("shapes")
    if key.shape[:2] != value.shape[:2] or query.shape[1] % max(key.shape[1], 1):
        raise ValueError("heads or lengths")
    if len(query_starts) != len(key_starts):
        raise ValueError("starts")
    kind = query.dtype
    t = np.float64 if kind == np.float64 else np.float32
    heads, group = query.shape[1], query.shape[1] // max(key.shape[1], 1)
    factor = t(1 / np.sqrt(query.shape[2])) if scale is None else t(scale)
    out, lse = np.zeros(query.shape[:2] + value.shape[2:], t), np.full(query.shape[:2], -np.inf, t)
    if mask is not None:
        mask = np.asarray(mask)
        mask = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)[0, :, 0]
        if mask.shape[0] not in (1, heads) or (len(key_starts) > 1 and mask.shape[1] < np.diff(key_starts).max()):
            raise ValueError("mask")
    for b in reversed(range(len(query_starts) - 1)):
        rows = slice(int(query_starts[b]), int(query_starts[b + 1]))
        n, length = rows.stop - rows.start, int(key_starts[b + 1]) - int(key_starts[b])
        p = np.arange(n) + (0 if causal_alignment == "top_left" else length - n)
        q = query[rows].astype(t)
        top = np.full((n, heads), -np.inf, t)
        logits = np.full((length, n, heads), -np.inf, t)
        seen = np.zeros((length, n, heads), bool)
        with np.errstate(all="ignore"):
            for j in reversed(range(length)):
                k = np.repeat(key[int(key_starts[b]) + j].astype(t), group, axis=0)
                x = (q * k).sum(axis=2) * factor
                if softcap:
                    x = t(softcap) * np.tanh(x / t(softcap))
                if alibi_slopes is not None:
                    x = x - np.abs(p - j).astype(t)[:, None] * np.asarray(alibi_slopes).astype(t)
                see = np.ones(n, bool)
                if is_causal:
                    see &= p >= j
                if window is not None:
                    see &= True if window[0] is None else p - j <= window[0]
                    see &= True if window[1] is None else j - p <= window[1]
                see = np.repeat(see[:, None], heads, axis=1)
                if mask is not None:
                    m = mask[:, j]
                    see &= m if m.dtype == bool else m != -np.inf
                    x = x if m.dtype == bool else x + m.astype(t)
                logits[j], seen[j] = np.where(see, x, -np.inf), see
                top = np.maximum(top, logits[j])
            if sinks is not None:
                top = np.maximum(top, np.asarray(sinks).astype(t))
            base = np.where(top == -np.inf, 0, top)
            total = np.zeros((n, heads), t)
            acc = np.zeros((n, heads, value.shape[2]), t)
            for j in reversed(range(length)):
                w = np.where(seen[j], np.exp2((logits[j] - base) * t(LOG2E)), 0)
                v = np.repeat(value[int(key_starts[b]) + j].astype(t), group, axis=0)
                acc += np.where(seen[j][..., None], w[..., None] * v, 0)
                total += w
            if sinks is not None:
                total += np.exp2((np.asarray(sinks).astype(t) - base) * t(LOG2E))
            out[rows] = acc / np.where(total == 0, 1, total)[..., None]
            lse[rows] = np.log2(total) + base * t(LOG2E)
    return {"output": out.astype(kind), "logsumexp": lse}
