"""Accumulator of the tile before."""
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
    top = np.full(4, -np.inf)
    total = np.zeros(4)
    acc = np.zeros((4, p.Ev))
    for b in range(p.B):
        for h in range(p.Hq):
            x = base.biased(p, b, h, base.scores_of(p, b, h))
            for i0 in range(0, p.Sq, 4):
                n = min(4, p.Sq - i0)
                first = True
                for j0 in range(0, p.T, 16):
                    j1 = min(j0 + 16, p.T)
                    y, ok = tile(p, b, h, x, i0, i0 + n, j0, j1)
                    if not ok.any():
                        continue
                    with np.errstate(all="ignore"):
                        here = y.max(axis=1)
                        before = np.full(n, -np.inf) if first else top[:n].copy()
                        new = np.maximum(before, here)
                        safe = np.where(new == -np.inf, 0, new)
                        old = np.where(before == -np.inf, 0.0, np.exp(before - safe))
                        e = np.where(ok, np.exp(y - safe[:, None]), 0)
                        part = base.weigh(e, ok, p.v[b, h // p.G, j0:j1])
                        total[:n] = e.sum(axis=1) + (0 if first else total[:n] * old)
                        acc[:n] = part + (0 if first else acc[:n] * old[:, None])
                        top[:n] = new
                    first = False
                t, s, a = top[:n], total[:n], acc[:n]
                with np.errstate(all="ignore"):
                    if p.sinks is not None:
                        with_sink = np.maximum(t, p.sinks[h])
                        s = s * np.where(t == -np.inf, 0.0, np.exp(t - with_sink)) + np.exp(p.sinks[h] - with_sink)
                        a = a * np.where(t == -np.inf, 0.0, np.exp(t - with_sink))[:, None]
                        t = with_sink
                    out[b, h, i0 : i0 + n] = a / np.where(s == 0, 1, s)[:, None]
                    lse[b, h, i0 : i0 + n] = np.where(s == 0, -np.inf, np.log(s) + np.where(t == -np.inf, 0, t))
    return base.finish(p, out, logsumexp=lse)
