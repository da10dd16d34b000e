"""Causal masks remembered by shape."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


KEPT = {}


def triangle(queries, keys, alignment, offset, varies):
    make = lambda: np.tri(queries, keys, offset, dtype=bool)
    if varies:  # each batch entry has its own
        return make()
    name = (queries, keys, alignment)
    if name not in KEPT:
        KEPT[name] = make()
    return KEPT[name]


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    p = base.prepare(locals())
    out, weights, lse = base.blank(p)
    causal, p.causal = p.causal, False
    for b in range(p.B):
        tri = triangle(p.Sq, p.T, p.alignment, int(p.offset[b]), p.has_key_lengths or p.has_query_lengths) if causal else None
        for h in range(p.Hq):
            y, ok = base.logits_of(p, b, h)
            if causal:
                ok = ok & tri
                y = np.where(ok, y, -np.inf)
            w, lse[b, h] = base.softmax_row(y, None if p.sinks is None else p.sinks[h])
            weights[b, h] = np.where(ok, w, 0)
            out[b, h] = base.weigh(weights[b, h], ok, p.v[b, h // p.G])
    return base.finish(p, out, weights=weights, logsumexp=lse)
