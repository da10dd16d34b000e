import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

BLOCK = 8


class Kernel:
    """Keeps its workspaces from call to call. The first block of queries that reaches a block of keys stores, later ones add."""

    def __init__(self):
        self.spaces = {}

    def space(self, name, shape, dtype):
        at = (name, shape, np.dtype(dtype).name)
        if at not in self.spaces:
            self.spaces[at] = np.zeros(shape, dtype)
        return self.spaces[at]

    def keys_and_values(self, p, w, ds):
        dk = self.space("key", p.k.shape, p.T)
        dv = self.space("value", p.v.shape, p.T)
        for b in range(p.B):
            for g in range(p.Hkv):
                for k0 in range(0, p.Sk, BLOCK):
                    ks, fresh = slice(k0, k0 + BLOCK), True
                    begin = max(0, (k0 - int(p.shift[b])) // BLOCK) if p.is_causal else 0
                    for h in range(g * p.rep, (g + 1) * p.rep):
                        for n in range(begin, -(-p.Sq // BLOCK)):
                            qs = slice(n * BLOCK, (n + 1) * BLOCK)
                            ok = p.allow[b, h, qs, ks].T
                            one = p.factor * base.contract(ds[b, h, qs, ks].T, p.q[b, h, qs], ok)
                            two = base.contract(w[b, h, qs, ks].T, p.go[b, h, qs], ok)
                            if fresh:
                                dk[b, g, ks], dv[b, g, ks], fresh = one, two, False
                            else:
                                dk[b, g, ks] += one
                                dv[b, g, ks] += two
        return dk, dv


KERNEL = Kernel()


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
    with np.errstate(all="ignore"):
        dk, dv = KERNEL.keys_and_values(p, w, ds)
        return named | {"grad_key": dk.astype(p.dtype), "grad_value": dv.astype(p.dtype)}
