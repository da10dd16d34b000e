import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np



def attend(p):
    w = base.dense(p)["weights"]
    scores = base.dense(p)["scores"]
    k, v = base.repeat(p.k, p.group), base.repeat(p.v, p.group)
    gw = (p.go @ v.swapaxes(-1, -2)).astype(p.dtype)  # a matrix product gives back what it got
    gw = np.where(p.ok, gw.astype(p.acc), 0)
    delta = np.where(p.ok, w * gw, 0).sum(axis=-1)
    gl = np.where(p.ok, w * (gw - delta[..., None] + p.glse[..., None]), 0)
    gs = np.where(p.ok, gl * (1 - np.tanh(scores / p.softcap) ** 2), 0) if p.softcap else gl
    full = base.dense_backward(p)
    t = p.ok.swapaxes(2, 3)
    r = {"grad_query": base.weigh(gs, k, p.ok) * p.scale,
         "grad_key": base.over_group(p, base.weigh(gs.swapaxes(2, 3), p.q, t) * p.scale),
         "grad_value": full["grad_value"]}
    if p.bias is not None:
        r["grad_mask"] = base.unbroadcast(gl, p.mask.shape)
    if p.sinks is not None:
        r["grad_sinks"] = full["grad_sinks"]
    return r


scaled_dot_product_attention_backward = base.make_backward(attend)
