import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np



def attend(p):
    """The longest sequences first, so that the last ones to finish are short; only the keys that count are read."""
    order = np.argsort(-p.L, kind="stable")
    outs, logs = [], []
    for b in order:
        n = int(p.L[b])
        heads_out, heads_log = [], []
        for h in range(p.Hq):
            g = h // p.group
            cols = slice(0, n)
            ok = p.ok[b, h][:, cols]
            x = base.logits_of(p, p.q[b, h] @ p.k[b, g, :n].T * p.scale, b, h, cols=cols)
            m = x.max(axis=1, initial=-np.inf if p.sinks is None else p.sinks[h])
            m = np.where(np.isneginf(m), 0, m)
            e = np.where(ok, np.exp(x - m[:, None]), 0)
            total = e.sum(axis=1) + (0 if p.sinks is None else np.exp(p.sinks[h] - m))
            w = e / np.where(total == 0, 1, total)[:, None]
            heads_out.append(base.weigh(w, p.v[b, g, :n], ok))
            heads_log.append(np.log(total) + m)
        outs.append(np.reshape(heads_out, (p.Hq, p.Sq, p.Ev)))
        logs.append(np.reshape(heads_log, (p.Hq, p.Sq)))
    out = np.reshape(outs, (p.B, p.Hq, p.Sq, p.Ev))[order]
    lse = np.reshape(logs, (p.B, p.Hq, p.Sq))[order]
    return {"output": out.astype(p.acc), "logsumexp": lse.astype(p.acc)}


scaled_dot_product_attention = base.make(attend)
