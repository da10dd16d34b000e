import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np



def attend(p):
    root = np.sqrt(p.E)
    r = base.dense_backward(p)
    gs = r["grad_scores"]
    k = np.take(p.k, np.arange(p.Hq) // p.group, axis=1)
    r["grad_query"] = (base.weigh(gs, k, p.ok) / root).astype(p.acc)
    return r


scaled_dot_product_attention_backward = base.make_backward(attend)
