import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np



def attend(p):
    """Key by key, as a vector unit does: each query holds a maximum, a sum and a weighted sum."""
    out = np.zeros((p.B, p.Hq, p.Sq, p.Ev), p.acc)
    lse = np.full((p.B, p.Hq, p.Sq), -np.inf, p.acc)
    for b, h in np.ndindex(p.B, p.Hq):
        g = h // p.group
        x = base.logits_of(p, p.q[b, h] @ p.k[b, g].T * p.scale, b, h)
        m = np.full(p.Sq, -np.inf if p.sinks is None else p.sinks[h], p.acc)
        total = np.full(p.Sq, 0 if p.sinks is None else 1, p.dtype)
        acc = np.zeros((p.Sq, p.Ev), p.acc)
        for j in range(p.Sk):
            ok = p.ok[b, h, :, j]
            new = np.where(ok, np.maximum(m, x[:, j]), m)
            safe = np.where(np.isneginf(new), 0, new)
            alpha = np.where(np.isneginf(m), 0, np.exp(m - safe))
            e = np.where(ok, np.exp(x[:, j] - safe), 0)
            total = (total.astype(p.acc) * alpha + e).astype(p.dtype)
            acc = acc * alpha[:, None] + np.where(ok[:, None], e[:, None] * p.v[b, g, j], 0)
            m = new
        wide = total.astype(p.acc)
        out[b, h] = acc / np.where(wide == 0, 1, wide)[:, None]
        lse[b, h] = np.log(wide) + np.where(np.isneginf(m), 0, m)
    return {"output": out, "logsumexp": lse}


scaled_dot_product_attention = base.make(attend)
