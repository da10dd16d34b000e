import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np



def attend(p):
    r = base.dense_backward(p)
    if p.bias is None:
        return r
    # each (batch entry, head) has a row in the mask, to which its gradient is added
    plain = dict(vars(p))
    shape = (1,) * (4 - p.mask.ndim) + p.mask.shape
    gl = logit_gradient(p, r["delta"])
    if shape[2] == 1:
        gl = gl.sum(axis=2, keepdims=True)
    b = np.arange(p.B) if shape[0] > 1 else np.zeros(p.B, int)
    g = np.zeros(shape, p.acc)
    for h in range(p.Hq):
        g[b, h if shape[1] > 1 else 0] += gl[:, h]
    r["grad_mask"] = g.reshape(p.mask.shape)
    return r


def logit_gradient(p, delta):
    w = base.dense(p)["weights"]
    gw = np.where(p.ok, p.go @ base.repeat(p.v, p.group).swapaxes(-1, -2), 0)
    return np.where(p.ok, w * (gw - delta[..., None] + p.glse[..., None]), 0)


scaled_dot_product_attention_backward = base.make_backward(attend)
