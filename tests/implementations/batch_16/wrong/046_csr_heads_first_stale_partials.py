import math
import numpy as np

layout = "paged_csr_heads_first"
PART = 16    # keys in a partition


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
    _check(query, key_pool, value_pool, mask, 1, 4, (page_starts[1:], last_page_length, query), query_lengths)
    B, Hq, Sq, E = query.shape
    dt = query.dtype
    Hkv, size = key_pool.shape[1:3]
    Ev = value_pool.shape[3]
    factor = dt.type(1 / math.sqrt(E) if scale is None else scale)
    lengths = [0 if page_starts[b] == page_starts[b + 1] else int(page_starts[b + 1] - page_starts[b] - 1) * size + int(last_page_length[b]) for b in range(B)]
    parts = max([1] + [-(-L // PART) for L in lengths])
    tops, sums, accs = np.full((Hq, Sq, parts), -np.inf, dt), np.zeros((Hq, Sq, parts), dt), np.zeros((Hq, Sq, parts, Ev), dt)
    output, logsumexp = np.zeros((B, Hq, Sq, Ev), dt), np.zeros((B, Hq, Sq), dt)
    left, right = window if window is not None else (None, None)
    with np.errstate(all="ignore"):
        for b, L in enumerate(lengths):
            N = Sq if query_lengths is None else int(query_lengths[b])
            for part in range(-(-L // PART)):
                j = np.arange(part * PART, min(L, part * PART + PART))
                page = np.asarray(page_indices)[int(page_starts[b]) + j // size]
                for h in range(Hq):
                    k, v = key_pool[page, h // (Hq // Hkv), j % size], value_pool[page, h // (Hq // Hkv), j % size]
                    for i in range(Sq):
                        p = i if causal_alignment == "top_left" else i + L - N
                        ok = np.ones(len(j), bool)
                        if is_causal:
                            ok &= j <= p
                        if left is not None:
                            ok &= j >= p - left
                        if right is not None:
                            ok &= j <= p + right
                        x = k @ query[b, h, i] * factor
                        if softcap:
                            x = np.tanh(x / dt.type(softcap)) * dt.type(softcap)
                        if alibi_slopes is not None:
                            x = x - alibi_slopes[h] * abs(p - j).astype(dt)
                        if mask is not None:
                            rows = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)[0, :, 0]
                            row = rows[min(h, len(rows) - 1)][j]
                            ok &= row if mask.dtype == bool else row != -np.inf
                            x = x if mask.dtype == bool else x + row
                        x, y = x[ok], v[ok]
                        top = x.max(initial=-np.inf)
                        e = np.exp(x - top)
                        tops[h, i, part], sums[h, i, part], accs[h, i, part] = top, e.sum(), e @ y
            # reduce over the partitions; those that a sequence does not have hold nothing
            top = tops.max(-1)
            if sinks is not None:
                top = np.maximum(top, sinks[:, None])
            ref = np.where(top == -np.inf, 0, top)
            f = np.exp(tops - ref[..., None])
            t = (f * sums).sum(-1) + (0 if sinks is None else np.exp(sinks[:, None] - ref))
            acc = np.where((sums != 0)[..., None], f[..., None] * accs, 0).sum(-2)
            output[b] = acc / np.where(t == 0, 1, t)[..., None]
            logsumexp[b] = np.where(t == 0, -np.inf, top + np.log(t))
    return {"output": output, "logsumexp": logsumexp}
