import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np


TQ = TK = 4


def attend(p):
    """Tiles of keys outside, tiles of queries inside."""
    f = base.dense(p)
    go, q = p.go, p.q
    r = base.dense_backward(p)
    delta = r["delta"]
    gq, gk, gv = (np.zeros(s, p.acc) for s in (p.q.shape, p.k.shape, p.v.shape))
    for b, h in np.ndindex(p.B, p.Hq):
        g = h // p.group
        for j in range(0, p.Sk, TK):
            cols = slice(j, min(j + TK, p.Sk))
            k, v = p.k[b, g, cols], p.v[b, g, cols]
            for t in query_tiles(p, b, j, cols.stop):
                rows = slice(t * TQ, min(t * TQ + TQ, p.Sq))
                ok, w = p.ok[b, h, rows, cols], f["weights"][b, h, rows, cols]
                gw = np.where(ok, go[b, h, rows] @ v.T, 0)
                gl = np.where(ok, w * (gw - delta[b, h, rows, None] + p.glse[b, h, rows, None]), 0)
                gs = gl
                if p.softcap:
                    gs = np.where(ok, gl * (1 - np.tanh(f["scores"][b, h, rows, cols] / p.softcap) ** 2), 0)
                gq[b, h, rows] += p.scale * base.weigh(gs, k, ok)
                gk[b, g, cols] += p.scale * base.weigh(gs.T, q[b, h, rows], ok.T)
                gv[b, g, cols] += base.weigh(w.T, go[b, h, rows], ok.T)
    keep = {n: r[n] for n in ("grad_mask", "grad_sinks", "delta") if n in r}
    return {"grad_query": gq, "grad_key": gk, "grad_value": gv} | keep



def query_tiles(p, b, j0, j1):
    """With causality, queries before the first key of a tile see nothing of it."""
    first, last = 0, -(-p.Sq // TQ)
    if p.causal:
        offset = 0 if p.alignment == "top_left" else p.Sk - p.Sq
        first = max(0, j0 - offset) // TQ
    return range(first, last)


scaled_dot_product_attention_backward = base.make_backward(attend)
