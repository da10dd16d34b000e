"""In packed bottom_right places the queries by the longest numbers of keys and queries of all sequences."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")

def attend(query, key, value, query_starts, key_starts, causal_alignment="top_left", **kw):
    N, L = np.diff(query_starts), np.diff(key_starts)
    first = 0
    if causal_alignment == "bottom_right" and len(N):
        first = int(L.max()) - int(N.max())  # max_seqlen_k - max_seqlen_q
    return base.packed(query, key, value, query_starts, key_starts, first=first, **kw)


layout = "packed"


def scaled_dot_product_attention(query, key, value, query_starts, key_starts, mask=None, sinks=None,
                                 alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None):
    return attend(query, key, value, query_starts, key_starts,
                  mask=mask, sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal, causal_alignment=causal_alignment, scale=scale, softcap=softcap, window=window)
