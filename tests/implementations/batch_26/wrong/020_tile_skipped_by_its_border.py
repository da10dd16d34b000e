import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

TILE = 16

layout = "packed"


def scaled_dot_product_attention(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    a = dict(locals())
    qs, ks = base.check_packed(a)
    Tq, Hq, E = query.shape
    Tk, Hkv, Ev = value.shape
    c = base.acc(query.dtype)
    qid, kid = np.repeat(np.arange(len(qs) - 1), np.diff(qs)), np.repeat(np.arange(len(ks) - 1), np.diff(ks))
    shift = np.diff(ks) - np.diff(qs) if causal_alignment == "bottom_right" else np.zeros(len(qs) - 1, np.int64)
    qp, kp = np.arange(Tq) - qs[qid] + shift[qid], np.arange(Tk) - ks[kid]
    q, k, v = (base.wide(x, c) for x in (query, key, value))
    factor = c.type(1 / E**0.5 if scale is None else scale)
    left, right = (None, None) if window is None else window
    out, lse = np.zeros((Tq, Hq, Ev), c), np.zeros((Tq, Hq), c)
    with np.errstate(all="ignore"):
        for h in range(Hq):
            g = h // (Hq // Hkv)
            for r0 in range(0, Tq, TILE):
                r = slice(r0, min(r0 + TILE, Tq))
                n = r.stop - r0
                m = np.full(n, -np.inf if sinks is None else np.asarray(sinks[h]).astype(c), c)
                l, o = np.where(m == -np.inf, 0, 1).astype(c), np.zeros((n, Ev), c)
                for c0 in range(0, Tk, TILE):
                    s = slice(c0, min(c0 + TILE, Tk))
                    if is_causal and kp[c0] > qp[r.stop - 1]:
                        continue  # the tile lies in the future
                    i, j = qp[r][:, None], kp[s]
                    ok = qid[r][:, None] == kid[s]
                    if is_causal:
                        ok = ok & (j <= i)
                    if left is not None:
                        ok = ok & (j >= i - left)
                    if right is not None:
                        ok = ok & (j <= i + right)
                    x = q[r, h] @ k[s, g].T * factor
                    if softcap:
                        x = np.tanh(x / c.type(softcap)) * c.type(softcap)
                    if alibi_slopes is not None:
                        x = x - np.asarray(alibi_slopes[h]).astype(c) * np.abs(i - j).astype(c)
                    if mask is not None:
                        row = np.broadcast_to(mask, (1,) * (3 - mask.ndim) + mask.shape if mask.ndim < 3 else mask.shape)
                        row = row.reshape(row.shape[-3], row.shape[-1])[h if row.shape[-3] > 1 else 0][j]
                        if row.dtype == bool:
                            ok = ok & row
                        else:
                            row = row.astype(c)
                            x, ok = x + row, ok & (row != -np.inf)
                    x = np.where(ok, x, c.type(-np.inf))
                    top = np.maximum(m, x.max(axis=1))
                    safe = np.where(top == -np.inf, c.type(0), top)
                    p, old = np.where(ok, np.exp(x - safe[:, None]), c.type(0)), np.exp(m - safe)
                    l, o, m = l * old + p.sum(axis=1), o * old[:, None] + base.weigh(p, ok, v[s, g]), top
                dead = l == 0
                one = np.where(dead, 1, l)
                out[r, h], lse[r, h] = o / one[:, None], np.where(dead, -np.inf, m + np.log(one))
        return {"output": out.astype(query.dtype), "logsumexp": lse}
