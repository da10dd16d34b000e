"""One plan for each key length."""
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
    plans = {}
    for b in range(p.B):
        if p.L[b] not in plans:
            plans[p.L[b]] = base.by_position(p, b)
        ok = plans[p.L[b]]
        for h in range(p.Hq):
            x = base.biased(p, b, h, base.scores_of(p, b, h))
            m = base.mask_of(p, b, h)
            if m is None:
                may = ok
            elif p.boolean:
                may = ok & m
            else:
                may = ok & (m != -np.inf)
                with np.errstate(all="ignore"):
                    x = x + m
            w, lse[b, h] = base.softmax_row(np.where(may, x, -np.inf), None if p.sinks is None else p.sinks[h])
            weights[b, h] = np.where(may, w, 0)
            out[b, h] = base.weigh(weights[b, h], may, p.v[b, h // p.G])
    return base.finish(p, out, weights=weights, logsumexp=lse)
