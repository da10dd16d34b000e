"""Online softmax to the base 2 over tiles of 5 keys, all heads at once."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
conventions = {"logsumexp_base": "2"}


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                                 window=None, output_dtype=None):
    c = base.prepare(**locals())
    add = None if c.add is None else np.broadcast_to(c.add, c.ok.shape)
    v = base.shared(c, c.v)
    kt = base.shared(c, c.k).swapaxes(-1, -2)
    log2e = c.work.type(np.log2(np.e))
    with np.errstate(all="ignore"):
        if c.sinks is None:
            m = np.full((c.B, c.H, c.Sq, 1), -np.inf, c.work)
            l = np.zeros_like(m)
        else:
            m = np.broadcast_to((c.sinks * log2e)[:, None, None], (c.B, c.H, c.Sq, 1)).copy()
            l = (m != -np.inf).astype(c.work)
        output = np.zeros((c.B, c.H, c.Sq, c.Ev), c.work)
        for j0 in range(0, c.T, 5):
            j = slice(j0, min(j0 + 5, c.T))
            x = (c.q @ kt[..., j]) * c.scale
            if c.cap is not None:
                x = np.tanh(x / c.cap) * c.cap
            if c.slopes is not None:
                far = np.abs(c.pos[:, None, :, None] - np.arange(c.T)[j]).astype(c.work)
                x = x - far * c.slopes[:, None, None]
            if add is not None:
                x = x + add[..., j]
            ok = c.ok[..., j]
            t = np.where(ok, x * log2e, -np.inf)
            new = np.maximum(m, t.max(axis=-1, keepdims=True))
            safe = np.where(new == -np.inf, 0, new)
            p = np.where(ok, np.exp2(t - safe), 0)
            shrink = np.exp2(m - safe)
            old, l, m = l * shrink, l * shrink + p.sum(axis=-1, keepdims=True), new
            some = np.where(l == 0, 1, l)
            output = output * (old / some) + base.weigh(p / some, ok, v[..., j, :])
        lse = (m + np.log2(l))[..., 0]
    return base.finish(c, output, **base.wide(c, logsumexp=lse))
