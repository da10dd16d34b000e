import numpy as np

layout = "packed"


def allowed(n, length, offset, causal, window):
    p = np.arange(n)[:, None] + offset
    j = np.arange(length)[None, :]
    ok = np.ones((n, length), bool)
    if causal:
        ok &= j <= p
    left, right = (None, None) if window is None else window
    if left is not None:
        ok &= p - j <= left
    if right is not None:
        ok &= j - p <= right
    return ok, np.abs(p - j)


def weigh(w, v, ok):
    """w (H, n, l), v (H, l, e): what is not allowed has no effect, be it NaN."""
    finite = np.isfinite(v)
    out = np.einsum("hnl,hle->hne", w, np.where(finite, v, 0))
    for h, l in zip(*np.nonzero(~finite.all(-1))):
        out[h] += np.where(ok[h, :, l, None], w[h, :, l, None] * np.where(finite[h, l], 0, v[h, l]), 0)
    return out


def scaled_dot_product_attention(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    query, key, value = np.asarray(query), np.asarray(key), np.asarray(value)
    if query.ndim != 3 or key.ndim != 3 or value.ndim != 3:
        raise ValueError("packed tensors have three axes")
    if query.shape[2] != key.shape[2] or key.shape[0] != value.shape[0] or key.shape[1] != value.shape[1]:
        raise ValueError("query, key and value do not fit")
    if len(query_starts) != len(key_starts):
        raise ValueError("queries and keys of other numbers of sequences")
    heads, kv = query.shape[1], key.shape[1]
    if heads % kv if kv else heads:
        raise ValueError("query heads are no multiple of key heads")
    which = np.arange(heads) // max(heads // max(kv, 1), 1)
    dtype = query.dtype
    acc = np.float64 if dtype == np.float64 else np.float32
    factor = acc(query.shape[2] ** -0.5 if scale is None else scale)
    output = np.zeros(query.shape[:2] + value.shape[2:], dtype)
    logsumexp = np.full(query.shape[:2], -np.inf, acc)
    if mask is not None:
        mask = np.asarray(mask)
        mask = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)[0]
    if len(query) == len(key):  # self-attention
        key_starts = query_starts
    batch = len(query_starts) - 1
    order = range(batch)
    for b in order:
        rows = slice(int(query_starts[b]), int(query_starts[b + 1]))
        cols = slice(int(key_starts[b]), int(key_starts[b + 1]))
        n, length = rows.stop - rows.start, cols.stop - cols.start
        q = query[rows].astype(acc)
        k = key[cols][:, which].astype(acc)
        v = value[cols][:, which].astype(acc)
        offset = 0 if causal_alignment == "top_left" else length - n
        ok, distance = allowed(n, length, offset, is_causal, window)
        with np.errstate(all="ignore"):
            x = np.einsum("nhe,lhe->hnl", q, k) * factor
            if softcap:
                x = np.tanh(x / acc(softcap)) * acc(softcap)
            if alibi_slopes is not None:
                x = x - np.asarray(alibi_slopes).astype(acc)[:, None, None] * distance.astype(acc)
            ok = np.broadcast_to(ok, x.shape)
            if mask is not None:
                if mask.shape[2] < length:
                    raise ValueError("the mask has too few columns")
                part = np.broadcast_to(mask[:, :, :length], x.shape)
                if part.dtype == bool:
                    ok = ok & part
                else:
                    ok = ok & (part != -np.inf)
                    x = x + part.astype(acc)
            x = np.where(ok, x, -np.inf)
            top = x.max(axis=2, initial=-np.inf)
            if sinks is not None:
                sink = np.asarray(sinks).astype(acc)[:, None]
                top = np.maximum(top, sink)
            base = np.where(top == -np.inf, 0, top)
            w = np.where(ok, np.exp(x - base[..., None]), 0)
            total = w.sum(axis=2)
            if sinks is not None:
                total = total + np.exp(sink - base)
            w = w / np.where(total == 0, 1, total)[..., None]
            output[rows] = weigh(w, v.transpose(1, 0, 2), ok).transpose(1, 0, 2).astype(dtype)
            logsumexp[rows] = (np.log(total) + base).T
    return {"output": output, "logsumexp": logsumexp}
