import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


import math

conventions = {"logsumexp_base": "2"}


@base.quiet
def run(p):
    """In units of log 2, query by query from the last, with the whole derivative of the softmax."""
    ln2 = math.log(2)
    gq = np.zeros_like(p.q)
    gk, gv = np.zeros_like(p.k), np.zeros_like(p.v)
    dl, ds = np.zeros(p.allowed.shape), np.zeros(p.allowed.shape)
    gs = np.zeros(p.Hq)
    for b, h, i in reversed(list(np.ndindex(p.B, p.Hq, p.Sq))):
        if i >= p.N[b]:
            continue
        glse = p.dlse[b, h, i] / ln2  # that of the natural logarithm
        keys = np.flatnonzero(p.allowed[b, h, i])[::-1]
        n = len(keys)
        if n == 0:
            if p.sinks is not None:
                gs[h] += glse
            continue
        g = h // p.G
        k, v, q, do = p.k[b, g, keys], p.v[b, g, keys], p.q[b, h, i], p.do[b, h, i]
        s = p.scale * np.array([(row * q).sum() for row in k])
        z, slope = s, np.ones(n)
        if p.c:
            t = np.tanh(s / p.c)
            z, slope = p.c * t, (1 - t) * (1 + t)
        z = (z + p.bias[b, h, i, keys]) / ln2
        if p.sinks is not None:
            z = np.append(z, p.sinks[h] / ln2)
        e = np.exp2(z - z.max())
        share = e / e.sum()
        if p.lse_given is not None and p.dtype.itemsize >= 4:
            share = np.exp2(z - float(p.lse_given[b, h, i]))
        jacobian = np.diag(share) - np.outer(share, share)
        up = np.array([(row * do).sum() for row in v])
        if p.sinks is not None:
            up = np.append(up, 0.0)
        down = jacobian @ up + share * glse
        if p.sinks is not None:
            gs[h] += down[-1]
        down = down[:n]
        dl[b, h, i, keys] = down
        down = down * slope
        ds[b, h, i, keys] = down
        gq[b, h, i] = (p.scale * down[:, None] * k).sum(0)
        gk[b, g, keys] += p.scale * down[:, None] * q
        gv[b, g, keys] += share[:n, None] * do
    return gq, gk, gv, dl, gs, ds


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    p = base.plan(**locals())
    out = base.finish(p, *run(p)[:5], None, None)
    return tuple(out.values())
