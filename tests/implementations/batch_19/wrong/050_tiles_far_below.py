"""Tiles of 16 keys that lie far below the running maximum are not worth the product."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    c = base.prepare(**locals())
    output = np.zeros((c.B, c.H, c.Sq, c.Ev), c.work)
    lse = np.zeros((c.B, c.H, c.Sq), c.work)
    with np.errstate(all="ignore"):
        for b, h in base.heads(c):
            m = np.full((c.Sq, 1), -np.inf if c.sinks is None else c.sinks[h], c.work)
            l = np.full((c.Sq, 1), 0 if c.sinks is None else 1, c.work)
            acc = np.zeros((c.Sq, c.Ev), c.work)
            for j in range(0, c.T, 16):
                x, ok = base.tile(c, b, h, 0, c.Sq, j, min(j + 16, c.T))
                top = x.max(axis=1, keepdims=True)
                if c.Sq and (top < m - 7).all():
                    continue
                new = np.maximum(m, top)
                safe = np.where(new == -np.inf, 0, new)
                old = np.where(m == -np.inf, 0, np.exp(m - safe))
                p = np.where(ok, np.exp(x - safe), 0)
                l = l * old + p.sum(axis=1, keepdims=True)
                acc = acc * old + base.weigh(p, ok, c.v[b, h // c.G, j:j + 16])
                m = new
            output[b, h] = np.where(l == 0, 0, acc / l)
            lse[b, h] = (m + np.log(l))[:, 0]
    return base.finish(c, output, **base.wide(c, logsumexp=lse))
