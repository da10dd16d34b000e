import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    a = base.prepare(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, alibi_slopes,
                     is_causal, causal_alignment, window, scale)
    bias = a.bias
    if alibi_slopes is not None and is_causal:
        # no key lies behind its query: slope * (j - p), of which softmax keeps the part that differs between keys
        bias = alibi_slopes.astype(a.ct)[:, None, None] * np.arange(a.n, dtype=a.ct)
        if a.added is not None:
            bias = bias + a.added
    out, weights, *_ = base.core(a.q, a.k, a.v, a.ok, bias, a.scale, softcap, sinks)
    return {"output": out.astype(query.dtype), "weights": weights}
