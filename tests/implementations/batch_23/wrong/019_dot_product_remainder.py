import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np



def dot(q, k):
    """Eight features at a time, then what remains."""
    E = q.shape[-1]
    kT = k.swapaxes(-1, -2)
    total = np.zeros(q.shape[:-1] + (k.shape[-2],), q.dtype)
    whole = E // 8 * 8
    for e in range(0, whole, 8):
        total = total + q[..., e : e + 8] @ kT[..., e : e + 8, :]
    rest = E - whole
    if rest >= 4:
        total = total + q[..., whole : whole + 4] @ kT[..., whole : whole + 4, :]
    elif rest:
        for e in range(whole, E):
            total = total + q[..., e, None] * kT[..., None, e, :]
    return total


def attend(p):
    out = np.zeros((p.B, p.Hq, p.Sq, p.Ev), p.acc)
    weights = np.zeros((p.B, p.Hq, p.Sq, p.Sk), p.acc)
    for b in range(p.B):
        for g in range(p.Hkv):
            for h in range(g * p.group, (g + 1) * p.group):
                x = base.logits_of(p, dot(p.q[b, h], p.k[b, g]) * p.scale, b, h)
                if p.sinks is not None:
                    x = np.column_stack([x, np.full(p.Sq, p.sinks[h])])
                m = x.max(axis=1, initial=-np.inf, keepdims=True)
                e = np.where(np.isneginf(x), 0, np.exp(x - np.where(np.isneginf(m), 0, m)))
                total = e.sum(axis=1, keepdims=True)
                weights[b, h] = (e / np.where(total == 0, 1, total))[:, : p.Sk]
                out[b, h] = base.weigh(weights[b, h], p.v[b, g], p.ok[b, h])
    return {"output": out, "weights": weights}


scaled_dot_product_attention = base.make(attend)
