import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


T = 8


def first_row(j0, given, Sq, Sk):
    """Row tile from which on queries may see the keys from j0 on."""
    if not given["is_causal"]:
        return 0
    shift = Sk - Sq if given["causal_alignment"] == "bottom_right" else 0
    return max(0, (j0 - shift) // T * T)


@base.quiet
def run(p):
    f = base.Backward(p)
    f.forward()
    dw = f.grad_weights()
    delta = f.delta = (f.w * dw).sum(-1)
    dl = np.where(p.allowed, f.w * (dw - delta[..., None] + p.dlse[..., None]), 0.0)
    ds = dl if p.c is None else np.where(p.allowed, dl * (1 - f.t**2), 0.0)
    gq = np.zeros_like(p.q)
    for i0 in range(0, p.Sq, T):
        r = np.s_[:, :, i0 : i0 + T]
        gq[r] = p.scale * base.mm(ds[r], p.krep, p.allowed[r])
    gk, gv = np.zeros_like(p.k), np.zeros_like(p.v)
    for j0 in range(0, p.Sk, T):
        for i0 in range(first_row(j0, p.given, p.Sq, p.Sk), p.Sq, T):
            t = np.s_[:, :, i0 : i0 + T, j0 : j0 + T]
            r = np.s_[:, :, i0 : i0 + T]
            seen = base.swap(p.allowed[t])
            gk[:, :, j0 : j0 + T] += f.group_sum(p.scale * base.mm(base.swap(ds[t]), p.q[r], seen))
            gv[:, :, j0 : j0 + T] += f.group_sum(base.mm(base.swap(f.w[t]), p.do[r], seen))
    gs = None if p.sinks is None else f.grad_sinks()
    return base.finish(p, gq, gk, gv, dl, gs, delta, ds)


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    return run(base.plan(**locals()))
