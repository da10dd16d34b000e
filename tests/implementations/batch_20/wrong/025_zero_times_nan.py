import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def heads(p, f):
    for b in range(p.B):
        for h in range(p.Hq):
            yield b, h, h // p.G, f.w[b, h], p.allowed[b, h]


@base.quiet
def run(p):
    f = base.Backward(p)
    f.forward()
    gq, gk, gv = np.zeros_like(p.q), np.zeros_like(p.k), np.zeros_like(p.v)
    dl, ds, delta = np.zeros(p.allowed.shape), np.zeros(p.allowed.shape), np.zeros(p.dlse.shape)
    for b, h, g, w, seen in heads(p, f):
        dw = np.where(seen, np.einsum("ie,je->ij", p.do[b, h], p.v[b, g]), 0.0)
        delta[b, h] = np.einsum("ij,ij->i", w, dw)
        dl[b, h] = np.where(seen, w * (dw - delta[b, h][:, None] + p.dlse[b, h][:, None]), 0.0)
        ds[b, h] = dl[b, h] if p.c is None else np.where(seen, dl[b, h] * (1 - f.t[b, h] ** 2), 0.0)
        gq[b, h] = p.scale * base.mm(ds[b, h], p.k[b, g], seen)
        gk[b, g] += p.scale * base.mm(ds[b, h].T, p.q[b, h], seen.T)
        gv[b, g] += np.einsum("ij,ie->je", w, p.do[b, h])
    f.delta = delta
    gs = None if p.sinks is None else f.grad_sinks()
    return base.finish(p, gq, gk, gv, dl, gs, delta, ds)


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    return run(base.plan(**locals()))
