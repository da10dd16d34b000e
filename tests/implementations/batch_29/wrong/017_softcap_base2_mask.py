import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

LOG2E = 1.4426950408889634


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    a = base.prepare(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, alibi_slopes,
                     is_causal, causal_alignment, window, scale)
    ct, two = a.ct, a.ct.type(LOG2E)
    with np.errstate(all="ignore"):
        raw = a.q @ a.k.swapaxes(-1, -2)
        if softcap:
            c = ct.type(softcap)
            t = np.tanh(raw * (a.scale / c)) * (c * two)
            if a.added is not None:
                t = t + a.added
        else:
            t = raw * (a.scale * two)
            if a.added is not None:
                t = t + a.added * two
        if a.alibi is not None:
            t = t + a.alibi * two
        t = np.where(a.ok, t, -np.inf)
        m = t.max(axis=-1, keepdims=True, initial=-np.inf)
        if sinks is not None:
            sink = sinks.astype(ct)[:, None, None] * two
            m = np.maximum(m, sink)
        m = np.where(np.isneginf(m), 0, m)
        e = np.where(a.ok, np.exp2(t - m), 0)
        total = e.sum(axis=-1, keepdims=True)
        if sinks is not None:
            total = total + np.exp2(sink - m)
        lse = (m + np.log2(total))[..., 0] / two
        weights = np.where(a.ok, e / total, 0)
    return {"output": base.weigh(weights, a.v, a.ok).astype(query.dtype), "weights": weights, "logsumexp": lse}
