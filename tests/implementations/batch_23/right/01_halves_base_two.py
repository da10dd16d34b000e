import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np


conventions = {"logsumexp_base": "2"}


def state(p, b, h, lo, hi):
    """Output and base-2 logarithm over the keys lo to hi: of halves, merged."""
    if hi - lo <= 3:
        cols = slice(lo, hi)
        ok = p.ok[b, h][:, cols]
        x = base.logits_of(p, p.q[b, h] @ p.k[b, h // p.group][cols].T * p.scale, b, h, cols=cols)
        x = x * p.acc.type(1.4426950408889634)
        m = x.max(axis=1, initial=-np.inf)
        safe = np.where(np.isneginf(m), 0, m)
        e = np.where(ok, np.exp2(x - safe[:, None]), 0)
        total = e.sum(axis=1)
        out = base.weigh(e / np.where(total == 0, 1, total)[:, None], p.v[b, h // p.group][cols], ok)
        return out, np.log2(total) + safe
    mid = (lo + hi) // 2
    return merge(state(p, b, h, lo, mid), state(p, b, h, mid, hi))


def merge(one, two):
    (a, x), (b, y) = one, two
    m = np.maximum(x, y)
    m = np.where(np.isneginf(m), 0, m)
    s, t = np.exp2(x - m), np.exp2(y - m)
    total = np.where(s + t == 0, 1, s + t)
    out = np.where((s == 0)[:, None], 0, (s / total)[:, None] * a) + np.where((t == 0)[:, None], 0, (t / total)[:, None] * b)
    return out, np.log2(s + t) + m


def attend(p):
    out = np.zeros((p.B, p.Hq, p.Sq, p.Ev), p.acc)
    lse = np.zeros((p.B, p.Hq, p.Sq), p.acc)
    for b, h in np.ndindex(p.B, p.Hq):
        r = state(p, b, h, 0, p.Sk)
        if p.sinks is not None:
            r = merge(r, (np.zeros((p.Sq, p.Ev), p.acc), np.full(p.Sq, p.sinks[h] * 1.4426950408889634, p.acc)))
        out[b, h], lse[b, h] = r
    return {"output": out, "logsumexp": lse}


scaled_dot_product_attention = base.make(attend)
