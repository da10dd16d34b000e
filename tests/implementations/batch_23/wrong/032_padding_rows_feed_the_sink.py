import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np



def attend(p):
    r = base.dense_backward(p)
    if p.sinks is None:
        return r
    lse = base.dense(p)["logsumexp"]  # of a row that is masked as a whole it is the sink
    delta = r["delta"]
    total = np.zeros(p.Hq, p.acc)
    for h in range(p.Hq):
        share = np.exp(p.sinks[h] - lse[:, h])
        term = share * (p.raw_glse[:, h] - delta[:, h])
        total[h] = np.where(share == 0, 0, term).sum()
    r["grad_sinks"] = total
    return r


scaled_dot_product_attention_backward = base.make_backward(attend)
