"""Tiles far below are skipped."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def tile(p, b, h, x, i0, i1, j0, j1):
    """Logits of a tile and what is allowed there; x are the scores with cap and bias."""
    d = np.arange(j0, j1)[None, :] - (np.arange(i0, i1)[:, None] + p.offset[b])
    ok = np.broadcast_to(np.arange(j0, j1) < p.L[b], d.shape).copy()
    if p.causal:
        ok &= d <= 0
    if p.left is not None:
        ok &= d >= -p.left
    if p.right is not None:
        ok &= d <= p.right
    y = x[i0:i1, j0:j1]
    m = base.mask_of(p, b, h)
    if m is not None:
        m = m[i0:i1, j0:j1]
        if p.boolean:
            ok &= m
        else:
            ok &= m != -np.inf
            with np.errstate(all="ignore"):
                y = y + m
    return np.where(ok, y, -np.inf), ok


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    p = base.prepare(locals())
    out, _, lse = base.blank(p)
    for b in range(p.B):
        for h in range(p.Hq):
            x = base.biased(p, b, h, base.scores_of(p, b, h))
            for i0 in range(0, p.Sq, 4):
                i1 = min(i0 + 4, p.Sq)
                top = np.full(i1 - i0, -np.inf if p.sinks is None else p.sinks[h])
                total = np.where(top == -np.inf, 0.0, 1.0)
                acc = np.zeros((i1 - i0, p.Ev))
                for j0 in range(0, p.T, 8):
                    j1 = min(j0 + 8, p.T)
                    y, ok = tile(p, b, h, x, i0, i1, j0, j1)
                    with np.errstate(all="ignore"):
                        here = y.max(axis=1)
                        finite = np.isfinite(p.v[b, h // p.G, j0:j1]).all()
                        if finite and ((here == -np.inf) | (here < top - 6)).all():
                            continue
                        new = np.maximum(top, here)
                        safe = np.where(new == -np.inf, 0, new)
                        old = np.where(top == -np.inf, 0.0, np.exp(top - safe))
                        e = np.where(ok, np.exp(y - safe[:, None]), 0)
                        total = total * old + e.sum(axis=1)
                        acc = acc * old[:, None] + base.weigh(e, ok, p.v[b, h // p.G, j0:j1])
                    top = new
                with np.errstate(all="ignore"):
                    out[b, h, i0:i1] = acc / np.where(total == 0, 1, total)[:, None]
                    lse[b, h, i0:i1] = np.where(total == 0, -np.inf, np.log(total) + np.where(top == -np.inf, 0, top))
    return base.finish(p, out, logsumexp=lse)
