import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np



def attend(p):
    r = base.dense_backward(p)
    if p.given_output is None or np.shape(p.given_output) != p.go.shape:
        return r
    # delta from the output, in a pass of its own over blocks as wide as a head
    o = np.where(p.live[..., None], p.given_output.astype(p.acc), 0)
    delta = np.zeros(p.live.shape, p.acc)
    for e in range(min(p.E, p.Ev)):
        delta += o[..., e] * p.go[..., e]
    w, scores = (base.dense(p)[n] for n in ("weights", "scores"))
    v = base.repeat(p.v, p.group)
    gw = np.where(p.ok, p.go @ v.swapaxes(-1, -2), 0)
    gl = np.where(p.ok, w * (gw - delta[..., None] + p.glse[..., None]), 0)
    gs = np.where(p.ok, gl * (1 - np.tanh(scores / p.softcap) ** 2), 0) if p.softcap else gl
    r["grad_query"] = p.scale * base.weigh(gs, base.repeat(p.k, p.group), p.ok)
    r["grad_key"] = base.over_group(p, p.scale * base.weigh(gs.swapaxes(2, 3), p.q, p.ok.swapaxes(2, 3)))
    r["delta"], r["grad_scores"] = delta, gs
    if p.bias is not None:
        r["grad_mask"] = base.unbroadcast(gl, p.mask.shape)
    if p.sinks is not None:
        share = np.where(p.counts[:, None], np.exp(p.sinks[:, None] - base.dense(p)["logsumexp"]), 0)
        r["grad_sinks"] = np.where(share == 0, 0, share * (p.glse - delta)).sum(axis=(0, 2))
    return r


scaled_dot_product_attention_backward = base.make_backward(attend)
