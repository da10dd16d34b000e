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
    t = p.T
    s = base.scores_of(p)
    plus = base.bias(p)
    dq, dk, dv = np.zeros(p.q.shape, t), np.zeros(p.k.shape, t), np.zeros(p.v.shape, t)
    dl, ds = np.zeros(p.allow.shape, t), np.zeros(p.allow.shape, t)
    delta = np.zeros((p.B, p.Hq, p.Sq), t)
    dsinks = None if p.sink is None else np.zeros(p.Hq, t)
    keep = None
    if p.mask is not None:
        keep = np.broadcast_to(p.mask if p.boolean else ~np.isneginf(p.mask.astype(np.float64)), p.allow.shape)
    left, right = (None, None) if window is None else window
    every = np.arange(p.Sk)
    with np.errstate(all="ignore"):
        for b, i in np.ndindex(p.B, p.Sq):
            if i >= p.N[b]:
                continue
            at = int(p.pos[b, i])
            lo = 0 if left is None else max(0, at - left)
            hi = int(p.L[b])
            if right is not None:
                hi = min(hi, at + right + 1)
            if is_causal:
                hi = min(hi, at + 1)
            band = every[lo:hi]
            for h in range(p.Hq):
                js = band if keep is None else band[keep[b, h, i, band]]
                g = h // p.rep
                z = s[b, h, i, js]
                z = (z if p.cap is None else p.cap * np.tanh(z / p.cap)) + plus[b, h, i, js]
                top = z.max(initial=-np.inf)
                if p.sink is not None:
                    top = np.maximum(top, p.sink[h])
                top = t(0) if np.isneginf(top) else top
                e = np.exp(z - top)
                own = t(0) if p.sink is None else np.exp(p.sink[h] - top)
                total = e.sum() + own
                if len(js):
                    w = e / total
                    dp = p.v[b, g, js] @ p.go[b, h, i]
                    delta[b, h, i] = w @ dp
                    row = w * (dp - delta[b, h, i] + p.gl[b, h, i])
                    dl[b, h, i, js] = row
                    if p.cap is not None:
                        row = row * (1 - np.tanh(s[b, h, i, js] / p.cap) ** 2)
                    ds[b, h, i, js] = row
                    dq[b, h, i] = p.factor * (row @ p.k[b, g, js])
                    dk[b, g, js] += p.factor * row[:, None] * p.q[b, h, i]
                    dv[b, g, js] += w[:, None] * p.go[b, h, i]
                if p.sink is not None and total != 0:
                    dsinks[h] += own / total * (p.gl[b, h, i] - delta[b, h, i])
        dmask = None if p.fmask is None else base.unbroadcast(dl, p.fmask.shape)
    return base.result(p, dq, dk, dv, dmask, dsinks, delta, ds)
