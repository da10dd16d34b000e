import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    p = base.prepare(**locals())
    s = base.scores_of(p)
    w, share, _ = base.softmax_parts(p, base.logits_of(p, s))
    dq = np.zeros(p.q.shape, p.T)
    dk, dv = np.zeros(p.k.shape, p.T), np.zeros(p.v.shape, p.T)
    dl_all = np.zeros(p.allow.shape, p.T)
    ds_all, deltas = np.zeros_like(dl_all), np.zeros((p.B, p.Hq, p.Sq), p.T)
    dsinks = None if p.sink is None else np.zeros(p.Hq, p.T)
    with np.errstate(all="ignore"):
        for b in range(p.B):
            for h in range(p.Hq):
                g, ok = h // p.rep, p.allow[b, h]
                dp = np.where(ok, p.go[b, h] @ p.v[b, g].T, 0)
                delta = (w[b, h] * dp).sum(axis=1)
                dl = np.where(ok, w[b, h] * (dp - delta[:, None] + p.gl[b, h][:, None]), 0)
                ds = dl if p.cap is None else np.where(ok, dl * (1 - np.tanh(s[b, h] / p.cap) ** 2), 0)
                dq[b, h] = base.contract(ds, p.k[b, g], ok) * p.factor
                dk[b, g] += base.contract(ds.T, p.q[b, h], ok.T) * p.factor
                dv[b, g] += base.contract(w[b, h].T, p.go[b, h], ok.T)
                if p.sink is not None:
                    n = p.N[b]
                    dsinks[h] = (share[b, h, :n] * (p.gl[b, h, :n] - delta[:n])).sum()
                dl_all[b, h], ds_all[b, h], deltas[b, h] = dl, ds, delta
        dmask = None if p.fmask is None else base.unbroadcast(dl_all, p.fmask.shape)
    return base.result(p, dq, dk, dv, dmask, dsinks, deltas, ds_all)
