"""Tiles of 8 queries, each with its rows of the mask."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    c = base.prepare(**locals())
    boolean, add = c.boolean, c.add
    c.boolean = c.add = None
    inside = base.allowed(c)
    raw = base.biased(c, base.capped(c, base.scores(c)))
    output = np.zeros((c.B, c.H, c.Sq, c.Ev), c.work)
    v = base.shared(c, c.v)
    for i in range(0, c.Sq, 8):
        rows = slice(i, min(i + 8, c.Sq))
        part = base.Case()
        part.__dict__.update(c.__dict__, ok=inside[:, :, rows])
        x = raw[:, :, rows]
        if boolean is not None:
            some = boolean[:, :, rows]
            if some.shape[2]:
                part.ok = part.ok & some
                if add is not None:
                    with np.errstate(all="ignore"):
                        x = x + add[:, :, rows]
        weights, _ = base.softmax(part, base.excluded(part, x))
        output[:, :, rows] = base.weigh(weights, part.ok, v)
    return base.finish(c, output)
