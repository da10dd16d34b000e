import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np


LOG2E = 1.4426950408889634


def attend(p):
    if p.softcap or p.slopes is not None or p.bias is not None:
        r = base.dense(p)
        return {"output": r["output"], "logsumexp": r["logsumexp"]}
    # scale and logarithm of e are one factor, that is met in the exponent: 2 ** (dot * f - top * f)
    dots = p.q @ base.repeat(p.k, p.group).swapaxes(-1, -2)
    dots = np.where(p.ok, dots, -np.inf)
    top = dots.max(axis=-1, initial=-np.inf)
    m = np.where(np.isneginf(top), 0, top) * p.scale
    if p.sinks is not None:
        s = np.broadcast_to(p.sinks[:, None], m.shape)
        m = np.where(np.isneginf(top), s, np.maximum(m, s))
    e = np.where(p.ok, np.exp2((np.where(p.ok, dots, 0) * p.scale - m[..., None]) * LOG2E), 0)
    total = e.sum(axis=-1)
    if p.sinks is not None:
        total = total + np.exp2((s - m) * LOG2E)
    w = e / np.where(total == 0, 1, total)[..., None]
    return {"output": base.weigh(w, base.repeat(p.v, p.group), p.ok), "logsumexp": (m + np.log(total)).astype(p.acc)}


scaled_dot_product_attention = base.make(attend)
