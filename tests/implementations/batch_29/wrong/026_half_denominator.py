import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    a = base.prepare(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, alibi_slopes,
                     is_causal, causal_alignment, window, scale)
    ct, half = a.ct, query.dtype
    with np.errstate(all="ignore"):
        s = a.q @ a.k.swapaxes(-1, -2) * a.scale
        if softcap:
            s = np.tanh(s / ct.type(softcap)) * ct.type(softcap)
        if a.bias is not None:
            s = s + a.bias
        s = np.where(a.ok, s, -np.inf)
        m = s.max(axis=-1, initial=-np.inf)
        if sinks is not None:
            m = np.maximum(m, sinks.astype(ct)[:, None])
        m = np.where(np.isneginf(m), 0, m)
        total = np.zeros(m.shape, half)
        if sinks is not None:
            total = total + np.exp(sinks.astype(ct)[:, None] - m).astype(half)
        e = np.where(a.ok, np.exp(s - m[..., None]), 0)
        for j in range(a.n):
            total = (total.astype(ct) + e[..., j]).astype(half)  # a running sum, one key after the other
        total = total.astype(ct)
        weights = np.where(a.ok, e / total[..., None], 0)
        lse = m + np.log(total)
    return {"output": base.weigh(weights, a.v, a.ok).astype(half), "logsumexp": lse}
