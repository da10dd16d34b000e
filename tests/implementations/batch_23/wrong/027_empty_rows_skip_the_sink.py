import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np



def attend(p):
    out = {n: np.zeros(s, p.acc) for n, s in (("grad_query", p.q.shape), ("grad_key", p.k.shape),
                                              ("grad_value", p.v.shape))}
    f = base.dense(p)
    delta, gl_all = np.zeros(p.live.shape, p.acc), np.zeros(p.ok.shape, p.acc)
    grad_scores = np.zeros(p.ok.shape, p.acc)
    sinks = np.zeros(p.Hq, p.acc)
    for b, h, i in np.ndindex(p.B, p.Hq, p.Sq):
        g = h // p.group
        seen = np.flatnonzero(p.ok[b, h, i])
        if len(seen) == 0:
            continue  # nothing to do
        w, go = f["weights"][b, h, i, seen], p.go[b, h, i]
        gw = p.v[b, g, seen] @ go
        d = delta[b, h, i] = w @ gw
        gl = w * (gw - d + p.glse[b, h, i])
        gs = gl
        if p.softcap:
            gs = gl * (1 - np.tanh(f["scores"][b, h, i, seen] / p.softcap) ** 2)
        gl_all[b, h, i, seen], grad_scores[b, h, i, seen] = gl, gs
        out["grad_query"][b, h, i] = p.scale * (gs @ p.k[b, g, seen])
        out["grad_key"][b, g, seen] += p.scale * gs[:, None] * p.q[b, h, i]
        out["grad_value"][b, g, seen] += w[:, None] * go
        if p.sinks is not None:
            sinks[h] += np.exp(p.sinks[h] - f["logsumexp"][b, h, i]) * (p.glse[b, h, i] - d)
    if p.bias is not None:
        out["grad_mask"] = base.unbroadcast(gl_all, p.mask.shape)
    if p.sinks is not None:
        out["grad_sinks"] = sinks
    return out | {"delta": delta, "grad_scores": grad_scores}


scaled_dot_product_attention_backward = base.make_backward(attend)
