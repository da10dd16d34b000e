"""Distances of a byte."""
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
    out, weights, lse = base.blank(p)
    for b in range(p.B):
        delta = base.distances(p, b).astype(np.int8)
        near = np.broadcast_to(np.arange(p.T) < p.L[b], delta.shape).copy()
        if p.causal:
            near &= delta <= 0
        if p.left is not None:
            near &= delta >= -min(p.left, 10**9)
        if p.right is not None:
            near &= delta <= min(p.right, 10**9)
        for h in range(p.Hq):
            x = base.biased(p, b, h, base.scores_of(p, b, h))
            ok = near
            m = base.mask_of(p, b, h)
            if m is not None and p.boolean:
                ok = near & m
            elif m is not None:
                ok = near & (m != -np.inf)
                with np.errstate(all="ignore"):
                    x = x + m
            w, lse[b, h] = base.softmax_row(np.where(ok, x, -np.inf), None if p.sinks is None else p.sinks[h])
            weights[b, h] = np.where(ok, w, 0)
            out[b, h] = base.weigh(weights[b, h], ok, p.v[b, h // p.G])
    return base.finish(p, out, weights=weights, logsumexp=lse)
