import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

BLOCK = 16


def first_block(p, b, k0):
    """The first query block that holds a query at or behind key k0."""
    if not p.is_causal:
        return 0
    start = max(0, k0 - int(p.shift[b]))
    return -(-start // BLOCK)


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    p = base.prepare(**locals())
    s = base.scores_of(p)
    w, share, _ = base.softmax_parts(p, base.logits_of(p, s))
    dl, delta = base.dlogits_of(p, w, None)
    ds = base.uncap(p, dl, s)
    named = base.finish(p, w, share, dl, ds, delta)
    dk, dv = np.zeros(p.k.shape, p.T), np.zeros(p.v.shape, p.T)
    with np.errstate(all="ignore"):
        for b in range(p.B):
            for k0 in range(0, p.Sk, BLOCK):
                ks = slice(k0, k0 + BLOCK)
                for h in range(p.Hq):
                    for n in range(first_block(p, b, k0), -(-p.Sq // BLOCK)):
                        qs = slice(n * BLOCK, (n + 1) * BLOCK)
                        ok = p.allow[b, h, qs, ks].T
                        dk[b, h // p.rep, ks] += p.factor * base.contract(ds[b, h, qs, ks].T, p.q[b, h, qs], ok)
                        dv[b, h // p.rep, ks] += base.contract(w[b, h, qs, ks].T, p.go[b, h, qs], ok)
        return named | {"grad_key": dk.astype(p.dtype), "grad_value": dv.astype(p.dtype)}
