import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np


TILE = 8


def attend(p):
    skip_below = -1e4
    out = np.zeros((p.B, p.Hq, p.Sq, p.Ev), p.acc)
    lse = np.full((p.B, p.Hq, p.Sq), -np.inf, p.acc)
    for b in range(p.B):
        for h in range(p.Hq):
            g = h // p.group
            state = None
            for j in range(0, p.Sk, TILE):
                cols = slice(j, min(j + TILE, p.Sk))
                ok = p.ok[b, h][:, cols]
                if not ok.any():
                    continue
                if p.bias is not None and (p.bias[b, h][:, cols] <= skip_below).all():
                    continue  # nothing in this tile can be seen
                x = base.logits_of(p, p.q[b, h] @ p.k[b, g][cols].T * p.scale, b, h, cols=cols)
                m = x.max(axis=1)
                safe = np.where(np.isneginf(m), 0, m)
                e = np.where(ok, np.exp(x - safe[:, None]), 0)
                part = m, e.sum(axis=1), base.weigh(e, p.v[b, g][cols], ok)
                state = part if state is None else join(state, part)
            if p.sinks is not None:
                ones = np.ones(p.Sq, p.acc)
                part = ones * p.sinks[h], ones, np.zeros((p.Sq, p.Ev), p.acc)
                state = part if state is None else join(state, part)
            if state is not None:
                m, total, acc = state
                out[b, h] = acc / np.where(total == 0, 1, total)[:, None]
                lse[b, h] = np.where(total == 0, -np.inf, m + np.log(total))
    return {"output": out, "logsumexp": lse}


def join(one, two):
    m = np.maximum(one[0], two[0])
    safe = np.where(np.isneginf(m), 0, m)
    a = np.where(np.isneginf(one[0]), 0, np.exp(one[0] - safe))
    b = np.where(np.isneginf(two[0]), 0, np.exp(two[0] - safe))
    return m, one[1] * a + two[1] * b, one[2] * a[:, None] + two[2] * b[:, None]


scaled_dot_product_attention = base.make(attend)
