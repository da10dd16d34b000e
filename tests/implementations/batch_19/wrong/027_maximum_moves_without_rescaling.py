"""Online softmax that rescales seldom."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
TILE, STEP = 32, 2.0


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    c = base.prepare(**locals())
    output = np.zeros((c.B, c.H, c.Sq, c.Ev), c.work)
    lse = np.full((c.B, c.H, c.Sq), -np.inf, c.work)
    with np.errstate(all="ignore"):
        for b, h in base.heads(c):
            m = np.full((c.Sq, 1), -np.inf, c.work)
            l = np.zeros((c.Sq, 1), c.work)
            acc = np.zeros((c.Sq, c.Ev), c.work)
            for j in range(0, c.T, TILE):
                x, ok = base.tile(c, b, h, 0, c.Sq, j, j + TILE if j + TILE < c.T else c.T)
                new = np.maximum(m, x.max(axis=1, keepdims=True))
                # a small step of the maximum is not worth a pass over the accumulator
                factor = np.where(new - m <= STEP, 1, np.exp(m - new))
                factor = np.where(m == -np.inf, 0, factor)
                m = new
                p = np.where(ok, np.exp(x - np.where(m == -np.inf, 0, m)), 0)
                l = l * factor + p.sum(axis=1, keepdims=True)
                acc = acc * factor + base.weigh(p, ok, c.v[b, h // c.G, j:j + TILE])
            if c.sinks is not None:
                new = np.maximum(m, c.sinks[h])
                factor = np.where(m == -np.inf, 0, np.exp(m - new))
                l, acc, m = l * factor + np.where(new == -np.inf, 0, np.exp(c.sinks[h] - new)), acc * factor, new
            output[b, h] = np.where(l == 0, 0, acc / l)
            lse[b, h] = (m + np.log(l))[:, 0]
    return base.finish(c, output, **base.wide(c, logsumexp=lse))
