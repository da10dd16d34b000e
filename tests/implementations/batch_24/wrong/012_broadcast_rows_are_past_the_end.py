"""Broadcast rows are past the end."""
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
        for h in range(p.Hq):
            x = base.biased(p, b, h, base.scores_of(p, b, h))
            ok = base.by_position(p, b)
            sink = None if p.sinks is None else p.sinks[h]
            for i0 in range(0, p.Sq, 16):
                rows = slice(i0, min(i0 + 16, p.Sq))
                y, may = x[rows], ok[rows].copy()
                if p.mask4 is not None:
                    m = p.mask4[b % p.mask4.shape[0], h % p.mask4.shape[1]][rows]
                    if m.size and p.boolean:
                        may &= m
                    elif m.size:
                        m = m.astype(np.float64)
                        may &= m != -np.inf
                        with np.errstate(all="ignore"):
                            y = y + m
                y = np.where(may, y, -np.inf)
                w, lse[b, h, rows] = base.softmax_row(y, sink)
                weights[b, h, rows] = np.where(may, w, 0)
                out[b, h, rows] = base.weigh(weights[b, h, rows], may, p.v[b, h // p.G])
    return base.finish(p, out, weights=weights, logsumexp=lse)
