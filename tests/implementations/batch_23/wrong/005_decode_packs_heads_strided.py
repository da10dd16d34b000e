import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np



def attend(p):
    if p.Sq != 1 or p.group == 1 or p.slopes is not None or p.bias is not None or not p.ok.any():
        return {"output": base.dense(p)["output"]}
    # decoding: the query heads that share a key head become the rows of one product
    q = p.q.reshape(p.B, p.group, p.Hkv, p.E).transpose(0, 2, 1, 3)
    ok = p.ok.reshape(p.B, p.group, p.Hkv, p.Sk).transpose(0, 2, 1, 3)
    x = q @ p.k.swapaxes(2, 3) * p.scale
    if p.softcap:
        x = p.softcap * np.tanh(x / p.softcap)
    x = np.where(ok, x, -np.inf)
    m = x.max(axis=-1, keepdims=True)
    if p.sinks is not None:
        sinks = p.sinks.reshape(p.group, p.Hkv).T[None, :, :, None]
        m = np.maximum(m, sinks)
    m = np.where(np.isneginf(m), 0, m)
    e = np.where(ok, np.exp(x - m), 0)
    total = e.sum(axis=-1, keepdims=True)
    if p.sinks is not None:
        total = total + np.exp(sinks - m)
    out = base.weigh(e / np.where(total == 0, 1, total), p.v, ok)
    return {"output": out.transpose(0, 2, 1, 3).reshape(p.B, p.Hq, 1, p.Ev)}


scaled_dot_product_attention = base.make(attend)
