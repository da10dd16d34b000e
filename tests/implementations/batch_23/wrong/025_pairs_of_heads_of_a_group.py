import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np



def attend(p):
    """Two query heads of a group share each load of a key: their gradients are added in registers."""
    r = base.dense_backward(p)
    w, gs = base.dense(p)["weights"], r["grad_scores"]
    gk, gv = np.zeros(p.k.shape, p.acc), np.zeros(p.v.shape, p.acc)
    step = 1 if p.group == 1 else 2
    for b in range(p.B):
        for g in range(p.Hkv):
            first = g * p.group
            for n in range(p.group // step):
                for h in range(first + n * step, first + (n + 1) * step):
                    ok = p.ok[b, h].T
                    gk[b, g] += base.weigh(gs[b, h].T, p.q[b, h], ok) * p.scale
                    gv[b, g] += base.weigh(w[b, h].T, p.go[b, h], ok)
    r["grad_key"], r["grad_value"] = gk, gv
    return r


scaled_dot_product_attention_backward = base.make_backward(attend)
