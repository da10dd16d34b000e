"""Float masks padded with zeros."""
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
    Tp = -(-p.T // 8) * 8
    pad = Tp - p.T
    k = np.pad(p.k, ((0, 0), (0, 0), (0, pad), (0, 0)))
    v = np.pad(p.v, ((0, 0), (0, 0), (0, pad), (0, 0)))
    mask = np.ones((1, 1, 1, p.T), bool) if p.mask4 is None else p.mask4 if p.boolean else p.mask4.astype(np.float64)
    mask = np.pad(mask, ((0, 0), (0, 0), (0, 0), (0, pad)))
    out, _, lse = base.blank(p)
    weights = np.zeros((p.B, p.Hq, p.Sq, Tp))
    j = np.arange(Tp)
    for b in range(p.B):
        place = np.arange(p.Sq)[:, None] + p.offset[b]
        ok = np.ones((p.Sq, Tp), bool)
        if p.has_key_lengths:
            ok &= (j < p.L[b]) | (j >= p.T)
        if p.causal:
            ok &= j <= place
        if p.left is not None:
            ok &= j >= place - p.left
        if p.right is not None:
            ok &= j <= place + p.right
        for h in range(p.Hq):
            m = np.broadcast_to(mask[b % mask.shape[0], h % mask.shape[1]], (p.Sq, Tp))
            with np.errstate(all="ignore"):
                x = base.capped(p, p.q[b, h] @ k[b, h // p.G].T * p.scale)
                if p.slopes is not None:
                    x = x - p.slopes[h] * np.abs(j - place)
                if m.dtype == bool:
                    may = ok & m
                else:
                    may = ok & (m != -np.inf)
                    x = x + m
            w, lse[b, h] = base.softmax_row(np.where(may, x, -np.inf), None if p.sinks is None else p.sinks[h])
            weights[b, h] = np.where(may, w, 0)
            out[b, h] = base.weigh(weights[b, h], may, v[b, h // p.G])
    return base.finish(p, out, weights=weights[..., : p.T], logsumexp=lse)
