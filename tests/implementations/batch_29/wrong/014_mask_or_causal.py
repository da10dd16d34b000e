import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    if mask is not None:
        causal = False  # the mask says it all
    else:
        causal = is_causal
    a = base.prepare(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, alibi_slopes,
                     causal, causal_alignment, window, scale)
    out, weights, lse, scores, logits = base.core(a.q, a.k, a.v, a.ok, a.bias, a.scale, softcap, sinks)
    return {"output": out.astype(query.dtype), "weights": weights, "logsumexp": lse, "scores": scores, "logits": logits,
            "present_key": a.present[0].copy(), "present_value": a.present[1].copy()}
