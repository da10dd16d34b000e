import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


@base.quiet
def one_row(f, p, b, h, i, out):
    keys = np.flatnonzero(p.allowed[b, h, i])
    g = h // p.G
    w, dw = f.w[b, h, i, keys], p.v[b, g, keys] @ p.do[b, h, i]
    total = w.sum()
    mean = np.average(dw, weights=w) if total > 0 and p.sinks is not None else (w * dw).sum()
    dl = w * (dw - mean + p.dlse[b, h, i])
    ds = dl if p.c is None else dl * (1 - np.tanh(f.s[b, h, i, keys] / p.c) ** 2)
    out["delta"][b, h, i] = mean
    out["dl"][b, h, i, keys] = dl
    out["ds"][b, h, i, keys] = ds
    out["gq"][b, h, i] = p.scale * (ds @ p.k[b, g, keys])
    out["gk"][b, g, keys] += p.scale * np.outer(ds, p.q[b, h, i])
    out["gv"][b, g, keys] += np.outer(w, p.do[b, h, i])
    if p.sinks is not None:
        out["gs"][h] += f.share[b, h, i] * (p.dlse[b, h, i] - mean)


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    p = base.plan(**locals())
    f = base.Backward(p)
    with base.quiet:
        f.forward()
    out = {"delta": np.zeros(p.dlse.shape), "dl": np.zeros(p.allowed.shape), "ds": np.zeros(p.allowed.shape),
           "gq": np.zeros_like(p.q), "gk": np.zeros_like(p.k), "gv": np.zeros_like(p.v), "gs": np.zeros(p.Hq)}
    for b in range(p.B):
        for h in range(p.Hq):
            for i in range(p.N[b]):
                one_row(f, p, b, h, i, out)
    return base.finish(p, out["gq"], out["gk"], out["gv"], out["dl"], out["gs"], out["delta"], out["ds"])
