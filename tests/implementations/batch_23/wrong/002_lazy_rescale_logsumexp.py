import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np


THRESHOLD = 4.0  # the accumulator is rescaled only where the maximum has risen by more than this
TILE = 4


def attend(p):
    out = np.zeros((p.B, p.Hq, p.Sq, p.Ev), p.acc)
    lse = np.full((p.B, p.Hq, p.Sq), -np.inf, p.acc)
    for b, h in np.ndindex(p.B, p.Hq):
        k, v, ok = p.k[b, h // p.group], p.v[b, h // p.group], p.ok[b, h]
        used = np.full(p.Sq, -np.inf, p.acc)
        total = np.zeros(p.Sq, p.acc)
        acc = np.zeros((p.Sq, p.Ev), p.acc)
        if p.sinks is not None:
            used[:] = p.sinks[h]
            total[:] = 1
        top = used.copy()
        for j in range(0, p.Sk, TILE):
            cols = slice(j, min(j + TILE, p.Sk))
            x = base.logits_of(p, p.q[b, h] @ k[cols].T * p.scale, b, h, cols=cols)
            top = np.maximum(top, x.max(axis=1))
            raised = np.where(top - used > THRESHOLD, top, used)
            raised = np.where(np.isneginf(used), top, raised)
            raised = np.where(np.isnan(top), top, raised)
            safe = np.where(np.isneginf(raised), 0, raised)
            alpha = np.where(np.isneginf(used), 0, np.exp(used - safe))
            e = np.where(ok[:, cols], np.exp(x - safe[:, None]), 0)
            total = total * alpha + e.sum(axis=1)
            acc = acc * alpha[:, None] + base.weigh(e, v[cols], ok[:, cols])
            used = raised
        out[b, h] = acc / np.where(total == 0, 1, total)[:, None]
        lse[b, h] = np.where(total == 0, -np.inf, top + np.log(total))
    return {"output": out, "logsumexp": lse}


scaled_dot_product_attention = base.make(attend)
