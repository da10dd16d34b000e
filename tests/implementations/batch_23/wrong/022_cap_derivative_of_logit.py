import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np



def attend(p):
    f = base.dense(p)
    w, ok = f["weights"], p.ok
    r = base.dense_backward(p)
    if not p.softcap:
        return r
    v = base.repeat(p.v, p.group)
    gw = np.where(ok, p.go @ v.swapaxes(-1, -2), 0)
    gl = np.where(ok, w * (gw - r["delta"][..., None] + p.glse[..., None]), 0)
    # the capped score over the cap is its tangent: nothing has to be kept but the logits
    x = f["logits"]
    if p.bias is not None:
        x = np.where(ok, x - np.where(ok, p.bias, 0), 0)
    gs = np.where(ok, gl * (1 - (x / p.softcap) ** 2), 0)
    r["grad_scores"] = gs
    r["grad_query"] = p.scale * base.weigh(gs, base.repeat(p.k, p.group), ok)
    r["grad_key"] = base.over_group(p, p.scale * base.weigh(gs.swapaxes(2, 3), p.q, ok.swapaxes(2, 3)))
    return r


scaled_dot_product_attention_backward = base.make_backward(attend)
