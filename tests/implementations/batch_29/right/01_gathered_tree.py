import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
conventions = {"logsumexp_base": "2"}


def tree(logits, values):
    """Largest logit, sum of exponentials and weighed values of some keys, halves first, the later half before."""
    if len(logits) <= 3:
        m = logits.max(initial=-np.inf)
        e = np.exp2(logits - (0 if np.isneginf(m) else m))
        return m, e.sum(), e @ values
    half = len(logits) // 2
    m1, l1, a1 = tree(logits[half:], values[half:])
    m2, l2, a2 = tree(logits[:half], values[:half])
    m = np.maximum(m1, m2)
    f1, f2 = (x.dtype.type(0) if np.isneginf(x) else np.exp2(x - m) for x in (m1, m2))
    total = np.zeros_like(a1)
    for f, x, part in ((f1, a1, m1), (f2, a2, m2)):
        if not np.isneginf(part):
            total = total + f * x
    return m, l1 * f1 + l2 * f2, total


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    """Row by row: only the keys that a query may attend to are read."""
    a = base.prepare(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, alibi_slopes, is_causal,
                     causal_alignment, window, scale)
    ct = a.ct
    two = ct.type(np.log2(np.e))
    out = np.zeros((a.B, a.Hq, a.Sq, a.Ev), ct)
    lse = np.full((a.B, a.Hq, a.Sq), -np.inf, ct)
    with np.errstate(all="ignore"):
        for b, h, i in np.ndindex(a.B, a.Hq, a.Sq):
            keys = np.flatnonzero(a.ok[b, h, i])
            t = (a.k[b, h, keys] * a.q[b, h, i]).sum(axis=1) * a.scale
            if softcap:
                t = np.tanh(t / ct.type(softcap)) * ct.type(softcap)
            if a.bias is not None:
                t = t + a.bias[b, h, i, keys]
            m, l, acc = tree(t * two, a.v[b, h, keys])
            if sinks is not None:
                sink = sinks[h].astype(ct) * two
                new = np.maximum(m, sink)
                if not np.isneginf(new):
                    f = ct.type(0) if np.isneginf(m) else np.exp2(m - new)
                    acc, l, m = acc * f, l * f + np.exp2(sink - new), new
            if len(keys):
                out[b, h, i] = acc / l
            if l != 0:
                lse[b, h, i] = m + np.log2(l)
    return {"output": out.astype(query.dtype), "logsumexp": lse}
