"""One query after another, in float64, products and sums in pairs; a row without keys is NaN."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
conventions = {"fully_masked_row": "nan"}


def pairs(a):
    """Sum along the first axis, neighbours first."""
    if len(a) == 0:
        return np.zeros(a.shape[1:])
    while len(a) > 1:
        if len(a) % 2:
            a = np.concatenate([a, np.zeros((1, *a.shape[1:]))])
        a = a[::2] + a[1::2]
    return a[0]


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    c = base.prepare(**locals(), work=np.float64)
    add = None if c.add is None else np.broadcast_to(c.add, c.ok.shape)
    output = np.zeros((c.B, c.H, c.Sq, c.Ev))
    with np.errstate(all="ignore"):
        for b, h in base.heads(c):
            for i in range(c.Sq):
                seen = np.flatnonzero(c.ok[b, h, i])
                if not len(seen):
                    output[b, h, i] = np.nan if c.sinks is None and c.T else 0
                    continue
                x = pairs((c.k[b, h // c.G, seen] * c.q[b, h, i]).T) * c.scale
                if c.cap is not None:
                    x = c.cap * np.tanh(x / c.cap)
                if c.slopes is not None:
                    x = x - c.slopes[h] * abs(seen - c.pos[b, i])
                if add is not None:
                    x = x + add[b, h, i, seen]
                m = x.max() if c.sinks is None else max(x.max(), c.sinks[h]) if not np.isnan(x).any() else np.nan
                e = np.exp(x - m)
                total = pairs(e) + (0 if c.sinks is None else np.exp(c.sinks[h] - m))
                output[b, h, i] = pairs((e / total)[:, None] * c.v[b, h // c.G, seen])
    return base.finish(c, output)
