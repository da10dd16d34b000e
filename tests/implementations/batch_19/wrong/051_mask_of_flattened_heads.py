"""Batch entries and heads are one axis; so is the mask."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    c = base.prepare(**locals())
    q, k, v = (a.reshape(a.shape[0] * a.shape[1], *a.shape[2:]) for a in (c.q, base.shared(c, c.k), base.shared(c, c.v)))
    full = None
    if mask is not None:
        full = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
        full = full.reshape(full.shape[0] * full.shape[1], *full.shape[2:])
    c.boolean = c.add = None
    ok = base.allowed(c).reshape(c.B * c.H, c.Sq, c.T)
    x = np.empty((c.B * c.H, c.Sq, c.T), c.work)
    with np.errstate(all="ignore"):
        for n in range(c.B * c.H):
            x[n] = base.capped(c, q[n] @ k[n].T * c.scale)
            if c.slopes is not None:
                x[n] -= c.slopes[n % c.H] * np.abs(c.pos[n // c.H][:, None] - np.arange(c.T)).astype(c.work)
            if full is not None:
                part = full[n % len(full)]
                if part.dtype == bool:
                    ok[n] &= part
                else:
                    ok[n] &= part != -np.inf
                    x[n] += np.where(part == -np.inf, 0, part.astype(c.work))
    c.ok = ok.reshape(c.B, c.H, c.Sq, c.T)
    weights, lse = base.softmax(c, base.excluded(c, x.reshape(c.ok.shape)))
    return base.finish(c, base.weigh(weights, c.ok, base.shared(c, c.v)), **base.wide(c, weights=weights))
