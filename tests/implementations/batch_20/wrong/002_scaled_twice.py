import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


@base.quiet
def attend(p):
    keys = p.krep * p.scale  # scaled once and for all
    f = base.Backward(p)
    f.forward()
    dw = np.where(p.allowed, np.einsum("bhie,bhje->bhij", p.do, p.vrep), 0.0)
    delta = np.einsum("bhij,bhij->bhi", f.w, dw)
    dl = np.where(p.allowed, f.w * (dw - delta[..., None] + p.dlse[..., None]), 0.0)
    ds = dl if p.c is None else np.where(p.allowed, dl * (1 - np.tanh(f.s / p.c) ** 2), 0.0)
    gq = p.scale * base.mm(ds, keys, p.allowed)
    gk = p.scale * base.mm(base.swap(ds), p.q, base.swap(p.allowed))
    gv = base.mm(base.swap(f.w), p.do, base.swap(p.allowed))
    f.delta = delta
    gs = None if p.sinks is None else f.grad_sinks()
    return base.finish(p, gq, f.group_sum(gk), f.group_sum(gv), dl, gs, delta, ds)


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    return attend(base.plan(**locals()))
