import math
import numpy as np

layout = "paged_csr"


def _softmax(x, ok, sink):
    top = np.where(ok, x, -np.inf).max(-1, initial=-np.inf)
    if sink is not None:
        top = np.maximum(top, sink)
    ref = np.where(top == -np.inf, 0, top)
    e = np.where(ok, np.exp(x - ref[..., None]), 0).astype(x.dtype)
    t = e.sum(-1)
    if sink is not None:
        t = t + np.exp(sink - ref)
    return e / np.where(t == 0, 1, t)[..., None], np.where(t == 0, -np.inf, top + np.log(t))


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


def scaled_dot_product_attention(query, key_pool, value_pool, page_starts, page_indices, last_page_length,
                                 query_lengths=None, mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    _check(query, key_pool, value_pool, mask, 2, 4, (page_starts[1:], last_page_length, query), query_lengths)
    B, Hq, Sq, E = query.shape
    dt = query.dtype
    pages, size, Hkv, _ = key_pool.shape
    Ev = value_pool.shape[3]
    keys, values = key_pool.reshape(pages * size, Hkv, E), value_pool.reshape(pages * size, Hkv, Ev)
    factor = dt.type(1 / math.sqrt(E) if scale is None else scale)
    output, logsumexp = np.zeros((B, Hq, Sq, Ev), dt), np.zeros((B, Hq, Sq), dt)
    for b in range(B):
        first, last = int(page_starts[b]), int(page_starts[b + 1])
        mine = np.asarray(page_indices)[first:last].astype(np.int64)
        L = 0 if first == last else (last - first - 1) * size + int(last_page_length[b])
        N = Sq if query_lengths is None else int(query_lengths[b])
        j = np.arange(L)
        slots = mine[j // size] * size + j % size
        k, v = keys[slots], values[slots]
        p = np.arange(Sq)[:, None] + (L - N if causal_alignment == "bottom_right" else 0)
        ok = np.ones((Sq, L), bool)
        if is_causal:
            ok &= j <= p
        if window is not None:
            if window[0] is not None:
                ok &= j >= p - window[0]
            if window[1] is not None:
                ok &= j <= p + window[1]
        with np.errstate(all="ignore"):
            for h in range(Hq):
                g, see = h // (Hq // Hkv), ok
                x = np.einsum("se,je->sj", query[b, h], k[:, g]) * factor
                if softcap:
                    x = np.tanh(x / dt.type(softcap)) * dt.type(softcap)
                if alibi_slopes is not None:
                    x = x - alibi_slopes[h] * np.abs(p - (slots - slots[0] if L else j)).astype(dt)
                if mask is not None:
                    row = np.broadcast_to(mask.reshape((1,) * (4 - mask.ndim) + mask.shape)[0, :, 0], (Hq, mask.shape[-1]))[h, :L]
                    see = ok & (row if mask.dtype == bool else row != -np.inf)
                    x = x if mask.dtype == bool else x + row
                w, logsumexp[b, h] = _softmax(x, see, None if sinks is None else sinks[h])
                for i in range(Sq):
                    output[b, h, i] = w[i, see[i]] @ v[see[i], g]
    return {"output": output, "logsumexp": logsumexp}
