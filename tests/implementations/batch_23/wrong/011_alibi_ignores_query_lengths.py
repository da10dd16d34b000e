import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np



def bias(p):
    """Distances, one for each diagonal, looked up: bottom-right is counted from the last query of the array."""
    start = p.offset if p.alignment == "top_left" else p.L - p.Sq
    most = p.Sq + p.Sk + int(np.abs(start).max(initial=0))
    table = np.abs(np.arange(-most, most + 1)).astype(p.acc)
    at = start[:, None, None] + np.arange(p.Sq)[:, None] - np.arange(p.Sk)[None, :]
    return table[at + most]


def attend(p):
    x = np.einsum("bgrie,bgje->bgrij", p.q.reshape(p.B, p.Hkv, p.group, p.Sq, p.E), p.k, optimize=True)
    x = x.reshape(p.B, p.Hq, p.Sq, p.Sk) * p.scale
    if p.softcap:
        x = np.tanh(x / p.softcap) * p.softcap
    if p.slopes is not None:
        x = x - p.slopes[:, None, None] * bias(p)[:, None]
    if p.bias is not None:
        x = x + p.bias
    x = np.where(p.ok, x, -np.inf).astype(p.acc)
    top = x.max(axis=-1, initial=-np.inf)
    if p.sinks is not None:
        top = np.maximum(top, p.sinks[:, None])
    top = np.where(np.isneginf(top), 0, top)[..., None]
    e = np.where(p.ok, np.exp(x - top), 0)
    total = e.sum(axis=-1, keepdims=True)
    if p.sinks is not None:
        total = total + np.exp(p.sinks[:, None, None] - top)
    w = e / np.where(total == 0, 1, total)
    return {"output": base.weigh(w, base.repeat(p.v, p.group), p.ok), "logsumexp": (np.log(total) + top)[..., 0]}


scaled_dot_product_attention = base.make(attend)
