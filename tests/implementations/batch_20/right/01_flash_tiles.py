import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


import math

TQ, TK = 5, 6


def bias_tile(p, b, h, i0, i1, j0, j1):
    """Which pairs of a tile may attend, and what is added to them, from positions alone."""
    given = p.given
    pos = np.arange(i0, i1)[:, None] + int(p.offset[b])
    j = np.arange(j0, j1)[None]
    seen = (j < p.L[b]) & (np.arange(i0, i1)[:, None] < p.N[b])
    if given["is_causal"]:
        seen = seen & (j <= pos)
    left, right = base.window_sides(given["window"])
    if left is not None:
        seen = seen & (j >= pos - left)
    if right is not None:
        seen = seen & (j <= pos + right)
    add = np.zeros(seen.shape)
    if given["alibi_slopes"] is not None:
        add = add - float(given["alibi_slopes"][h]) * np.abs(pos - j)
    if p.full is not None:
        m = p.full[b, h, i0:i1, j0:j1]
        if p.float_mask:
            m = m.astype(np.float64)
            seen = seen & ~np.isneginf(m)
            add = add + np.where(np.isneginf(m), 0, m)
        else:
            seen = seen & m
    return seen, np.where(seen, add, 0.0)


def logit_tile(p, b, h, i0, i1, j0, j1):
    g = h // p.G
    seen, add = bias_tile(p, b, h, i0, i1, j0, j1)
    s = np.where(seen, p.scale * (p.q[b, h, i0:i1] @ p.k[b, g, j0:j1].T), 0.0)
    factor = np.ones(s.shape)
    z = s
    if p.c:
        z = p.c * np.tanh(s / p.c)
        factor = np.where(np.isnan(s), s, 1 / np.cosh(s / p.c) ** 2)
    return seen, np.where(seen, z + add, -np.inf), factor


def spans(n, step):
    return [(a, min(a + step, n)) for a in range(0, n, step)]


@base.quiet
def run(p):
    p.full = None if p.mask is None else np.broadcast_to(p.mask, (p.B, p.Hq, p.Sq, p.Sk))
    gq, gk, gv = np.zeros_like(p.q), np.zeros_like(p.k), np.zeros_like(p.v)
    delta, gs = np.zeros(p.dlse.shape), np.zeros(p.Hq)
    gm = np.zeros(p.mask.shape) if p.float_mask else None
    sees = np.zeros(p.dlse.shape, dtype=bool)
    lse = np.full(p.dlse.shape, -np.inf)
    for b in range(p.B):
        for h in range(p.Hq):
            g = h // p.G
            for i0, i1 in spans(p.Sq, TQ):  # online softmax, and delta beside it
                top, total, dot = np.full(i1 - i0, -np.inf), np.zeros(i1 - i0), np.zeros(i1 - i0)
                if p.sinks is not None:
                    top, total = np.full(i1 - i0, p.sinks[h]), np.ones(i1 - i0)
                for j0, j1 in spans(p.Sk, TK):
                    seen, z, _ = logit_tile(p, b, h, i0, i1, j0, j1)
                    new = np.maximum(top, z.max(-1))
                    safe = np.where(np.isneginf(new), 0.0, new)
                    e = np.where(seen, np.exp(z - safe[:, None]), 0.0)
                    old = np.exp(top - safe)
                    dw = np.where(seen, p.do[b, h, i0:i1] @ p.v[b, g, j0:j1].T, 0.0)
                    total = total * old + e.sum(-1)
                    dot = dot * old + (e * dw).sum(-1)
                    top = new
                    sees[b, h, i0:i1] |= seen.any(-1)
                lse[b, h, i0:i1] = top + np.log(total)
                delta[b, h, i0:i1] = np.where(sees[b, h, i0:i1], dot / total, 0.0)
    counted = np.broadcast_to(p.counted[:, None], lse.shape)
    if p.lse_given is not None and p.dtype.itemsize >= 4:
        lse = np.where(counted, base.wide(p.lse_given), 0.0)
    if p.output is not None and np.shape(p.output) == p.do.shape:
        delta = np.where(sees & counted, (base.wide(p.output) * p.do).sum(-1), 0.0)
    lse = np.where(np.isneginf(lse), 0.0, lse)
    for b in range(p.B):
        for h in range(p.Hq):
            g = h // p.G
            for j0, j1 in reversed(spans(p.Sk, TK)):
                for i0, i1 in reversed(spans(p.Sq, TQ)):
                    seen, z, factor = logit_tile(p, b, h, i0, i1, j0, j1)
                    if not seen.any():
                        continue
                    w = np.where(seen, np.exp(z - lse[b, h, i0:i1, None]), 0.0)
                    dw = np.where(seen, p.do[b, h, i0:i1] @ p.v[b, g, j0:j1].T, 0.0)
                    dl = np.where(seen, w * (dw - (delta - p.dlse)[b, h, i0:i1, None]), 0.0)
                    ds = np.where(seen, dl * factor, 0.0)
                    gv[b, g, j0:j1] += base.mm(w.T, p.do[b, h, i0:i1], seen.T)
                    gk[b, g, j0:j1] += p.scale * base.mm(ds.T, p.q[b, h, i0:i1], seen.T)
                    gq[b, h, i0:i1] += p.scale * base.mm(ds, p.k[b, g, j0:j1], seen)
                    if gm is not None:
                        at = np.ogrid[b : b + 1, h : h + 1, i0:i1, j0:j1][4 - gm.ndim :]
                        at = np.broadcast_arrays(*[a % n if n == 1 else a for a, n in zip(at, gm.shape)])
                        np.add.at(gm, tuple(at), dl.reshape((1,) * (gm.ndim - 2) + dl.shape))
            if p.sinks is not None:
                rows = p.counted[b]
                gs[h] += (np.exp(p.sinks[h] - lse[b, h]) * (p.dlse - delta)[b, h])[rows].sum()
    return base.finish(p, gq, gk, gv, gm, gs, None, None)


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    return run(base.plan(**locals()))
