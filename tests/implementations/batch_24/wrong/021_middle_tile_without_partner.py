"""Middle tile without partner."""
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
    tiles = -(-p.Sq // 8)
    if p.causal and tiles > 1:
        order = [t for n in range(tiles // 2) for t in (n, tiles - 1 - n)]
    else:
        order = range(tiles)
    for b in range(p.B):
        for h in range(p.Hq):
            x, ok = base.logits_of(p, b, h)
            sink = None if p.sinks is None else p.sinks[h]
            for t in order:
                rows = slice(8 * t, min(8 * t + 8, p.Sq))
                # behind the last row's own position there is nothing
                most = min(p.T, max(0, rows.stop + int(p.offset[b]))) if p.causal else p.T
                w, lse[b, h, rows] = base.softmax_row(x[rows, :most], sink)
                weights[b, h, rows, :most] = np.where(ok[rows, :most], w, 0)
                out[b, h, rows] = base.weigh(weights[b, h, rows, :most], ok[rows, :most], p.v[b, h // p.G, :most])
    return base.finish(p, out, weights=weights, logsumexp=lse)
