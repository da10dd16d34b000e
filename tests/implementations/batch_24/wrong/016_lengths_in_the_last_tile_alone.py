"""Lengths in the last tile alone."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    p = base.prepare(locals())
    out, _, lse = base.blank(p)
    if p.B == 0:
        return base.finish(p, out, logsumexp=lse)
    tiles = -(-int(p.L.max()) // 16)
    for n in range(p.B * p.Hq):
        b, h = divmod(n, p.Hq)
        x = base.biased(p, b, h, base.scores_of(p, b, h))
        m = base.mask_of(p, b, h)
        far = base.distances(p, b)
        top = np.full((p.Sq, 1), -np.inf if p.sinks is None else p.sinks[h])
        total = np.where(top == -np.inf, 0.0, 1.0)
        acc = np.zeros((p.Sq, p.Ev))
        for t in range(tiles):
            c = slice(16 * t, min(16 * t + 16, p.T))
            y, d = x[:, c], far[:, c]
            ok = np.ones(y.shape, bool)
            if t == tiles - 1:
                ok &= np.arange(p.T)[c] < p.L[b]
            if p.causal:
                ok &= d <= 0
            if p.left is not None:
                ok &= d >= -p.left
            if p.right is not None:
                ok &= d <= p.right
            with np.errstate(all="ignore"):
                if m is not None and p.boolean:
                    ok &= m[:, c]
                elif m is not None:
                    ok &= m[:, c] != -np.inf
                    y = y + m[:, c]
                y = np.where(ok, y, -np.inf)
                new = np.maximum(top, y.max(axis=1, keepdims=True))
                safe = np.where(new == -np.inf, 0, new)
                old = np.where(top == -np.inf, 0.0, np.exp(top - safe))
                e = np.where(ok, np.exp(y - safe), 0)
                total = total * old + e.sum(axis=1, keepdims=True)
                acc = acc * old + base.weigh(e, ok, p.v[b, h // p.G, c])
            top = new
        with np.errstate(all="ignore"):
            out[b, h] = acc / np.where(total == 0, 1, total)
            lse[b, h] = np.where(total == 0, -np.inf, np.log(total) + np.where(top == -np.inf, 0, top))[:, 0]
    return base.finish(p, out, logsumexp=lse)
