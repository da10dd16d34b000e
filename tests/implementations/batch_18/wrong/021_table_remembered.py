import numpy as np

layout = "packed"


def segments(starts, total):
    """The sequence of every token."""
    starts = np.asarray(starts)
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


_tables = {}


def placed(query_starts, key_starts, tq, tk, bottom_right):
    """Which tokens meet, and how far every query stands from every key."""
    query_starts, key_starts = np.asarray(query_starts, dtype=np.int64), np.asarray(key_starts, dtype=np.int64)
    sq, sk = segments(query_starts, tq), segments(key_starts, tk)
    same = sq[:, None] == sk[None, :]
    p = np.arange(tq) - query_starts[sq]
    if bottom_right:
        p = p + (np.diff(key_starts) - np.diff(query_starts))[sq]
    j = np.arange(tk) - key_starts[sk]
    return same, p[:, None] - j[None, :], j


def scaled_dot_product_attention(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    """All sequences in one table of scores; tokens of different sequences do not meet."""
    q, k, v = (np.asarray(x) for x in (query, key, value))
    if q.ndim != 3 or k.ndim != 3 or v.ndim != 3 or q.shape[-1] != k.shape[-1] or k.shape[:2] != v.shape[:2]:
        raise ValueError("shapes")
    if q.shape[1] % max(k.shape[1], 1):
        raise ValueError("grouped heads")
    if len(query_starts) != len(key_starts):
        raise ValueError("starts")
    kind = q.dtype
    t = np.promote_types(kind, np.float32)
    tq, hq, e = q.shape
    tk, hkv = k.shape[:2]
    at = (len(query_starts), tq, tk, causal_alignment)
    if at not in _tables:
        _tables[at] = placed(query_starts, key_starts, tq, tk, causal_alignment == "bottom_right")
    same, gap, column = _tables[at]
    ok = same.copy()
    if is_causal:
        ok &= gap >= 0
    if window is not None:
        if window[0] is not None:
            ok &= gap <= window[0]
        if window[1] is not None:
            ok &= -gap <= window[1]
    out = np.zeros((tq, hq, v.shape[2]), t)
    lse = np.full((tq, hq), -np.inf, t)
    full = None
    if mask is not None:
        full = np.asarray(mask)
        full = full.reshape((1,) * (4 - full.ndim) + full.shape)[0]
        if tk and full.shape[-1] <= column.max():
            raise ValueError("mask")
    with np.errstate(all="ignore"):
        for h in range(hq):
            g = h // (hq // hkv)
            s = (q[:, h].astype(t) @ k[:, g].astype(t).T) * t.type(1 / np.sqrt(e) if scale is None else scale)
            if softcap:
                s = t.type(softcap) * np.tanh(s / t.type(softcap))
            if alibi_slopes is not None:
                s = s - t.type(alibi_slopes[h]) * np.abs(gap).astype(t)
            see = ok
            if full is not None:
                line = full[h if full.shape[0] > 1 else 0, 0][column]
                if line.dtype == bool:
                    see = ok & line
                else:
                    s = s + line.astype(t)
                    see = ok & (line != -np.inf)
            for i in range(tq):
                at = np.flatnonzero(see[i])
                row = s[i, at]
                if sinks is not None:
                    row = np.append(row, t.type(sinks[h]))
                if not row.size:
                    continue
                top = row.max()
                if top == -np.inf:
                    continue
                w = np.exp(row - top)
                total = w.sum()
                lse[i, h] = top + np.log(total)
                out[i, h] = (w[:len(at)] / total) @ v[at, g].astype(t)
    return {"output": out.astype(kind), "logsumexp": lse}
