"""Keys from the last to the first; the output is a mean that moves with each of them."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    c = base.prepare(**locals())
    x = base.logits(c)
    v = base.shared(c, c.v)
    with np.errstate(all="ignore"):
        m = np.full((c.B, c.H, c.Sq), -np.inf, c.work)
        if c.sinks is not None:
            m[:] = c.sinks[:, None]
        l = (m != -np.inf).astype(c.work)
        mean = np.zeros((c.B, c.H, c.Sq, c.Ev), c.work)
        for j in reversed(range(c.T)):
            ok = c.ok[..., j]
            new = np.where(ok, np.maximum(m, x[..., j]), m)
            safe = np.where(new == -np.inf, 0, new)
            mine = np.where(ok, np.exp(x[..., j] - safe), 0)
            kept = l * np.exp(m - safe)
            l, m = kept + mine, new
            some = np.where(l == 0, 1, l)
            moved = mean * (kept / some)[..., None] + v[..., None, j, :] * (mine / some)[..., None]
            mean = np.where(ok[..., None], moved, mean)
        lse = m + np.log(l)
        weights = np.where(c.ok, np.exp(x - np.where(m == -np.inf, 0, m)[..., None]) / np.where(l == 0, 1, l)[..., None], 0)
    return base.finish(c, mean, **base.wide(c, weights=weights, logsumexp=lse, logits=x))
