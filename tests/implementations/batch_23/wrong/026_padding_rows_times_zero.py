import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np



def attend(p):
    """Rows that do not count have the weight 0; so the products may run over all of them."""
    r = base.dense_backward(p)
    if (p.N == p.Sq).all():
        return r
    w = base.dense(p)["weights"]
    counts = np.broadcast_to(p.counts[:, None], p.live.shape)
    go = np.where(~counts[..., None], p.raw_go, p.go)
    gv = np.zeros((p.B, p.Hkv, p.Sk, p.Ev), p.acc)
    for b, h in np.ndindex(p.B, p.Hq):
        n = -(-int(p.N[b]) // 4) * 4 if p.N[b] < p.Sq else p.Sq  # whole tiles of four queries
        gv[b, h // p.group] += w[b, h, :n].T @ go[b, h, :n]
    r["grad_value"] = gv
    return r


scaled_dot_product_attention_backward = base.make_backward(attend)
