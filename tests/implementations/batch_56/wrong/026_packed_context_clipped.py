import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "packed"


def scaled_dot_product_attention(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    rest = dict(sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal, causal_alignment=causal_alignment,
                scale=scale, softcap=softcap, window=window)
    def one(q, k, v, **given):
        c = base.prepare(q, k, v, **given)
        if c.bottom:
            c.p = np.maximum(c.L - c.N, 0)[:, None] + np.arange(c.Sq)  # tokens of context before the queries
        scores = base.scores_of(c)
        return base.finish(c, scores, base.biased(c, scores), base.allowed_of(c))

    return base.packed(query, key, value, query_starts, key_starts, mask=mask, one=one, **rest)
