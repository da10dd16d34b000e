import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    a = base.prepare(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, alibi_slopes,
                     is_causal, causal_alignment, window, scale)
    with np.errstate(all="ignore"):
        s = np.einsum("bhie,bhje->bhij", a.q, a.k) * a.scale
        if softcap:
            s = a.ct.type(softcap) * np.tanh(s / a.ct.type(softcap))
        if a.bias is not None:
            s = s + a.bias
        s = np.where(a.ok, s, -np.inf)
        e = np.exp(s - s.max(axis=-1, keepdims=True, initial=-np.inf))
        weights = np.nan_to_num(e / e.sum(axis=-1, keepdims=True))  # rows without keys
    return {"output": base.weigh(weights, a.v, a.ok).astype(query.dtype), "weights": weights}
