"""Square is a triangle."""
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
    out = np.zeros((p.B, p.Hq, p.Sq, p.Ev))
    lse = np.full((p.B, p.Hq, p.Sq), -np.inf)
    square = p.Sq == p.T
    for b in range(p.B):
        # what does not depend on the head
        reach = np.tri(p.Sq, p.T, 0 if square else p.offset[b], dtype=bool) if p.causal else np.ones((p.Sq, p.T), bool)
        d = base.distances(p, b)
        reach &= np.arange(p.T) < p.L[b]
        reach &= True if p.left is None else d >= -p.left
        reach &= True if p.right is None else d <= p.right
        for h in range(p.Hq):
            x = base.biased(p, b, h, base.scores_of(p, b, h))
            m = base.mask_of(p, b, h)
            for i in range(p.Sq):
                cols = np.flatnonzero(reach[i] if m is None else reach[i] & (m[i] if p.boolean else m[i] != -np.inf))
                y = x[i, cols]
                if m is not None and not p.boolean:
                    with np.errstate(all="ignore"):
                        y = y + m[i, cols]
                w, t = base.softmax_row(y[None], None if p.sinks is None else p.sinks[h])
                with np.errstate(all="ignore"):
                    out[b, h, i] = (w[0, :, None] * p.v[b, h // p.G][cols]).sum(axis=0)
                lse[b, h, i] = t[0]
    return base.finish(p, out, logsumexp=lse)
