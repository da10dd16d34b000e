"""Logsumexp of another maximum."""
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
            used = np.full(p.Sq, -np.inf if p.sinks is None else p.sinks[h])
            true = used.copy()
            total = np.where(used == -np.inf, 0.0, 1.0)
            acc = np.zeros((p.Sq, p.Ev))
            for j0 in range(0, p.T, 16):
                j1 = min(j0 + 16, p.T)
                y, ok = tile(p, b, h, x, 0, p.Sq, j0, j1)
                with np.errstate(all="ignore"):
                    here = y.max(axis=1)
                    true = np.maximum(true, here)
                    stays = here - used <= 8  # -inf - -inf is NaN, and moves nowhere
                    new = np.where(stays, used, np.maximum(used, here))
                    safe = np.where(new == -np.inf, 0, new)
                    old = np.where(used == -np.inf, 0.0, np.exp(used - safe))
                    e = np.where(ok, np.exp(y - safe[:, None]), 0)
                    total = total * old + e.sum(axis=1)
                    acc = acc * old[:, None] + base.weigh(e, ok, p.v[b, h // p.G, j0:j1])
                used = new
            with np.errstate(all="ignore"):
                out[b, h] = acc / np.where(total == 0, 1, total)[:, None]
                lse[b, h] = np.where(total == 0, -np.inf, np.log(total) + true)
    return base.finish(p, out, logsumexp=lse)
