import math
import numpy as np

layout = "paged_heads_first"


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


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    _check(query, key_pool, value_pool, mask, 1, 4, (block_table, key_lengths, query), query_lengths, block_table.shape[1] * key_pool.shape[2])
    B, Hq, Sq, E = query.shape
    dt = query.dtype
    Hkv, size = key_pool.shape[1:3]
    Ev = value_pool.shape[3]
    factor = dt.type(1 / math.sqrt(E) if scale is None else scale)
    # both pools are addressed with the strides of the keys
    values = value_pool.ravel()
    of_page, of_head, of_slot = Hkv * size * E, size * E, E
    most = max(len(values) - Ev, 0)
    cols = None if mask is None else mask.reshape((1,) * (4 - mask.ndim) + mask.shape)[0, :, 0]
    out, lse = np.zeros((B, Hq, Sq, Ev), dt), np.full((B, Hq, Sq), -np.inf, dt)
    for b in range(B):
        L = int(key_lengths[b])
        N = Sq if query_lengths is None else int(query_lengths[b])
        p = np.arange(Sq) + (0 if causal_alignment == "top_left" else L - N)
        pages = block_table[b]
        for h in range(Hq):
            g = h // (Hq // Hkv)
            m, t, acc = np.full(Sq, -np.inf, dt), np.zeros(Sq, dt), np.zeros((Sq, Ev), dt)
            for n in range(-(-L // size)):
                fill = min(size, L - n * size)
                j = n * size + np.arange(fill)
                k, v = key_pool[pages[n], g, :fill], values[np.minimum(pages[n] * of_page + g * of_head + np.arange(fill) * of_slot, most)[:, None] + np.arange(Ev)]
                far = j[None, :] - p[:, None]
                ok = np.ones((Sq, fill), bool)
                if is_causal:
                    ok &= far <= 0
                if window is not None and window[0] is not None:
                    ok &= far >= -window[0]
                if window is not None and window[1] is not None:
                    ok &= far <= window[1]
                with np.errstate(all="ignore"):
                    x = (query[b, h] @ k.T) * factor
                    if softcap:
                        x = dt.type(softcap) * np.tanh(x / dt.type(softcap))
                    if alibi_slopes is not None:
                        x = x - alibi_slopes[h] * np.abs(far).astype(dt)
                    if cols is not None:
                        bias = cols[min(h, len(cols) - 1)][j]
                        if cols.dtype == bool:
                            ok &= bias
                        else:
                            ok &= bias != -np.inf
                            x = x + bias
                    x = np.where(ok, x, -np.inf)
                    new = np.maximum(m, x.max(1))
                    ref = np.where(new == -np.inf, 0, new)
                    e = np.where(ok, np.exp(x - ref[:, None]), 0).astype(dt)
                    old = np.exp(m - ref)
                    t = t * old + e.sum(1)
                    acc = acc * old[:, None] + np.where(ok[:, :, None], e[:, :, None] * v[None], 0).sum(1)
                    m = new
            with np.errstate(all="ignore"):
                if sinks is not None:
                    new = np.maximum(m, sinks[h])
                    t = t * np.exp(m - new) + np.exp(sinks[h] - new)
                    acc = acc * np.exp(m - new)[:, None]
                    m = new
                out[b, h] = acc / np.where(t == 0, 1, t)[:, None]
                lse[b, h] = np.where(t == 0, -np.inf, m + np.log(t))
    return {"output": out, "logsumexp": lse}
