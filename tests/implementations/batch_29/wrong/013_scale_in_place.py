import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    B, Hq, Hkv, Sq, Sk, P, E, Ev = base.check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths)
    ct = base.wide(query.dtype)
    q = np.asarray(query, dtype=ct)  # widens where there is something to widen
    q *= ct.type(E ** -0.5 if scale is None else scale)
    a = base.prepare(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, alibi_slopes,
                     is_causal, causal_alignment, window, scale)
    out, weights, lse, *_ = base.core(q, a.k, a.v, a.ok, a.bias, 1, softcap, sinks)
    return {"output": out.astype(query.dtype), "weights": weights, "logsumexp": lse}
