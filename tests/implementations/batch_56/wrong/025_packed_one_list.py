import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "packed"


def scaled_dot_product_attention(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    rest = dict(sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal, causal_alignment=causal_alignment,
                scale=scale, softcap=softcap, window=window)
    query, key, value, qs, ks = base.packed_checks(query, key, value, query_starts, key_starts)
    if query.shape[0] == key.shape[0]:
        ks = qs  # self-attention: one list of starts for both
    return base.packed(query, key, value, qs, ks, mask=mask, **rest)
