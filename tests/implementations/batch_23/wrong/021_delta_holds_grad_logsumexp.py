import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np



def attend(p):
    """Subtracting the gradient of the logsumexp from delta saves a pass over the scores."""
    w, scores = (base.dense(p)[n] for n in ("weights", "scores"))
    k, v = base.repeat(p.k, p.group), base.repeat(p.v, p.group)
    gw = np.where(p.ok, np.einsum("bhie,bhje->bhij", p.go, v), 0)
    delta = np.einsum("bhij,bhij->bhi", w, gw)
    delta = delta - p.glse
    gl = np.where(p.ok, w * (gw - delta[..., None]), 0)
    gs = np.where(p.ok, gl * (1 - np.tanh(scores / p.softcap) ** 2), 0) if p.softcap else gl
    t = p.ok.swapaxes(2, 3)
    r = {"grad_query": base.weigh(gs, k, p.ok) * p.scale,
         "grad_key": base.over_group(p, base.weigh(gs.swapaxes(2, 3), p.q, t) * p.scale),
         "grad_value": base.over_group(p, base.weigh(w.swapaxes(2, 3), p.go, t)),
         "delta": delta, "grad_scores": gs}
    if p.bias is not None:
        r["grad_mask"] = base.unbroadcast(gl, p.mask.shape)
    if p.sinks is not None:
        share = np.where(p.counts[:, None], np.exp(p.sinks[:, None] - base.dense(p)["logsumexp"]), 0)
        r["grad_sinks"] = -np.where(share == 0, 0, share * delta).sum(axis=(0, 2))
    return r


scaled_dot_product_attention_backward = base.make_backward(attend)
