import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np


TQ, TK = 4, 4


def tiles(p, b, i0, i1):
    """First and last tile of keys that a tile of queries has to visit."""
    lo, hi = 0, -(-p.Sk // TK)
    left, right = p.window
    first, last = int(p.pos[b, i0]), int(p.pos[b, i1 - 1])
    if left is not None:
        lo = max(lo, (last - int(left)) // TK)
    if right is not None:
        hi = min(hi, (last + int(right)) // TK + 1)
    if p.causal:
        hi = min(hi, last // TK + 1)
    return lo, hi


def attend(p):
    out = np.zeros((p.B, p.Hq, p.Sq, p.Ev), p.acc)
    lse = np.full((p.B, p.Hq, p.Sq), -np.inf, p.acc)
    for b, h in np.ndindex(p.B, p.Hq):
        k, v, ok = p.k[b, h // p.group], p.v[b, h // p.group], p.ok[b, h]
        for i0 in range(0, p.Sq, TQ):
            i1 = min(i0 + TQ, p.Sq)
            rows = slice(i0, i1)
            m = np.full(i1 - i0, -np.inf if p.sinks is None else p.sinks[h], p.acc)
            total = np.full(i1 - i0, 0 if p.sinks is None else 1, p.acc)
            acc = np.zeros((i1 - i0, p.Ev), p.acc)
            for t in range(*tiles(p, b, i0, i1)):
                cols = slice(t * TK, min(t * TK + TK, p.Sk))
                x = base.logits_of(p, p.q[b, h, rows] @ k[cols].T * p.scale, b, h, rows, cols)
                new = np.maximum(m, x.max(axis=1))
                safe = np.where(np.isneginf(new), 0, new)
                alpha = np.where(np.isneginf(m), 0, np.exp(m - safe))
                e = np.where(ok[rows, cols], np.exp(x - safe[:, None]), 0)
                total = total * alpha + e.sum(axis=1)
                acc = acc * alpha[:, None] + base.weigh(e, v[cols], ok[rows, cols])
                m = new
            out[b, h, rows] = acc / np.where(total == 0, 1, total)[:, None]
            lse[b, h, rows] = np.log(total) + np.where(np.isneginf(m), 0, m)
    return {"output": out, "logsumexp": lse}


scaled_dot_product_attention = base.make(attend)
