"""The query heads of a group are rows of one matrix, which meets the keys once."""
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
    add = None if c.add is None else np.broadcast_to(c.add, c.ok.shape)
    with np.errstate(all="ignore"):
        for b in range(c.B):
            for g in range(c.Hk):
                h = slice(g * c.G, (g + 1) * c.G)
                rows = np.arange(c.G * c.Sq)
                head = g * c.G + rows // max(c.Sq, 1)
                x = base.capped(c, c.q[b, h].reshape(len(rows), c.E) @ c.k[b, g].T * c.scale)
                ok = c.ok[b, h].reshape(len(rows), c.T)
                if c.slopes is not None:
                    place = c.pos[b][rows // c.G]
                    x = x - c.slopes[head][:, None] * np.abs(place[:, None] - np.arange(c.T)).astype(c.work)
                if add is not None:
                    x = x + add[b, h].reshape(len(rows), c.T)
                x = np.where(ok, x, -np.inf)
                m = x.max(axis=1, keepdims=True, initial=-np.inf)
                if c.sinks is not None:
                    m = np.maximum(m, c.sinks[head][:, None])
                m = np.where(m == -np.inf, 0, m)
                e = np.where(ok, np.exp(x - m), 0)
                total = e.sum(axis=1, keepdims=True)
                if c.sinks is not None:
                    total = total + np.exp(c.sinks[head][:, None] - m)
                got = base.weigh(e / np.where(total == 0, 1, total), ok, c.v[b, g])
                output[b, h] = got.reshape(c.G, c.Sq, c.Ev)
    return base.finish(c, output)
