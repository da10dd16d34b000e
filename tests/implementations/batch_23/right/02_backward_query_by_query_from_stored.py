import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np



def attend(p):
    f = None if p.given_lse is not None else base.dense(p)
    gq, gk, gv = (np.zeros(s, p.acc) for s in (p.q.shape, p.k.shape, p.v.shape))
    gm = None if p.bias is None else np.zeros(p.ok.shape, p.acc)
    sinks = None if p.sinks is None else np.zeros(p.Hq, p.acc)
    for b, h in np.ndindex(p.B, p.Hq):
        g = h // p.group
        for i in reversed(range(int(p.N[b]))):
            seen = np.flatnonzero(p.ok[b, h, i])[::-1]
            if not len(seen):
                if sinks is not None:
                    sinks[h] += p.glse[b, h, i]
                continue
            k, v, go = p.k[b, g, seen], p.v[b, g, seen], p.go[b, h, i]
            s = k @ p.q[b, h, i] * p.scale
            t = np.tanh(s / p.softcap) if p.softcap else None
            x = p.softcap * t if p.softcap else s
            if p.slopes is not None:
                x = x - p.slopes[h] * np.abs(p.pos[b, i] - seen).astype(p.acc)
            if p.bias is not None:
                x = x + p.bias[b, h, i, seen]
            lse = f["logsumexp"][b, h, i] if f else p.given_lse[b, h, i].astype(p.acc)
            w = np.exp(x - lse)
            if p.given_output is not None:
                delta = p.given_output[b, h, i].astype(p.acc) @ go
            else:
                delta = w @ (v @ go)
            gl = w * (v @ go - delta + p.glse[b, h, i])
            gs = gl * (1 - t * t) if p.softcap else gl
            gq[b, h, i] = (gs @ k) * p.scale
            gk[b, g, seen] += np.outer(gs, p.q[b, h, i]) * p.scale
            gv[b, g, seen] += np.outer(w, go)
            if gm is not None:
                gm[b, h, i, seen] = gl
            if sinks is not None:
                sinks[h] += np.exp(p.sinks[h] - lse) * (p.glse[b, h, i] - delta)
    return {"grad_query": gq, "grad_key": gk, "grad_value": gv, "grad_sinks": sinks,
            "grad_mask": None if gm is None else base.unbroadcast(gm, p.mask.shape)}


scaled_dot_product_attention_backward = base.make_backward(attend)
