import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np


SPLIT = 8


def partial(p, b, h, cols):
    s = p.q[b, h] @ p.k[b, h // p.group][cols].T * p.scale
    x = base.logits_of(p, s, b, h, cols=cols)
    m = x.max(axis=1, initial=-np.inf)
    if p.sinks is not None:
        m = np.maximum(m, p.sinks[h])
    m = np.where(np.isneginf(m), 0, m)
    ok = p.ok[b, h][:, cols]
    e = np.where(ok, np.exp(x - m[:, None]), 0)
    total = e.sum(axis=1)
    if p.sinks is not None:
        total = total + np.exp(p.sinks[h] - m)
    return m, total, base.weigh(e, p.v[b, h // p.group][cols], ok)


def combine(parts):
    top = np.max([m for m, _, _ in parts], axis=0)
    total = sum(t * np.exp(m - top) for m, t, _ in parts)
    out = sum(o * np.exp(m - top)[:, None] for m, _, o in parts)
    return out / np.where(total == 0, 1, total)[:, None], np.log(total) + top


def decode(p):
    """One query a sequence: the keys are split over workers, whose states are reduced."""
    out = np.zeros((p.B, p.Hq, p.Sq, p.Ev), p.acc)
    lse = np.zeros((p.B, p.Hq, p.Sq), p.acc)
    for b in range(p.B):
        for h in range(p.Hq):
            parts = [partial(p, b, h, slice(j, min(j + SPLIT, p.Sk))) for j in range(0, p.Sk, SPLIT)]
            out[b, h], lse[b, h] = combine(parts)
    return {"output": out, "logsumexp": lse}


def attend(p):
    if p.Sq == 1 and p.Sk > SPLIT:
        return decode(p)
    r = base.dense(p)
    return {"output": r["output"], "logsumexp": r["logsumexp"]}


scaled_dot_product_attention = base.make(attend)
