import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

SAFE = 60.0  # exponentials of this are far from overflow


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    a = base.prepare(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, alibi_slopes,
                     is_causal, causal_alignment, window, scale)
    ct = a.ct
    with np.errstate(all="ignore"):
        s = np.matmul(a.q, a.k.swapaxes(-1, -2)) * a.scale
        longest = [np.sqrt((x * x).sum(-1).max(initial=0)) for x in (a.q, a.k)]
        bound = abs(a.scale) * longest[0] * longest[1]
        if softcap:
            s = np.tanh(s / ct.type(softcap)) * ct.type(softcap)
            bound = min(bound, softcap)
        if a.bias is not None:
            s = s + a.bias
        s = np.where(a.ok, s, -np.inf)
        if bound < SAFE:  # scores cannot be large: no pass for the maximum
            m = np.zeros(s.shape[:3] + (1,), ct)
        else:
            m = s.max(axis=-1, keepdims=True, initial=-np.inf)
            if sinks is not None:
                m = np.maximum(m, sinks.astype(ct)[:, None, None])
            m = np.where(np.isneginf(m), 0, m)
        e = np.where(a.ok, np.exp(s - m), 0)
        total = e.sum(axis=-1, keepdims=True)
        if sinks is not None:
            total = total + np.exp(sinks.astype(ct)[:, None, None] - m)
        weights = np.where(a.ok, e / total, 0)
        lse = (m + np.log(total))[..., 0]
    return {"output": base.weigh(weights, a.v, a.ok).astype(query.dtype), "weights": weights, "logsumexp": lse}
