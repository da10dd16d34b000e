"""Counts of a byte."""
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
    out, _, lse = base.blank(p)
    for b in range(p.B):
        for h in range(p.Hq):
            x = base.biased(p, b, h, base.scores_of(p, b, h))
            v = p.v[b, h // p.G]
            m = base.mask_of(p, b, h)
            ok = base.by_position(p, b)
            if m is not None and p.boolean:
                ok &= m
                count = np.zeros((-(-p.Sq // 16), -(-p.T // 16)), np.uint8)
                for r, c in np.ndindex(count.shape):
                    count[r, c] = m[16 * r : 16 * r + 16, 16 * c : 16 * c + 16].sum(dtype=np.uint8)
                live = np.repeat(np.repeat(count > 0, 16, axis=0)[: p.Sq], 16, axis=1)[:, : p.T]
                ok &= live
            elif m is not None:
                ok &= m != -np.inf
                with np.errstate(all="ignore"):
                    x = x + m
            w, lse[b, h] = base.softmax_row(np.where(ok, x, -np.inf), None if p.sinks is None else p.sinks[h])
            out[b, h] = base.weigh(np.where(ok, w, 0), ok, v)
    return base.finish(p, out, logsumexp=lse)
