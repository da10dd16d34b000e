import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged_csr_heads_first"


def scaled_dot_product_attention(query, key_pool, value_pool, page_starts, page_indices, last_page_length,
                                 query_lengths=None, mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    rest = dict(sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal, causal_alignment=causal_alignment,
                scale=scale, softcap=softcap, window=window)
    query, k, v = base.pools(query, key_pool, value_pool, True)
    pages, lengths = base.list_pages(page_starts, page_indices, last_page_length, len(query), k.shape[1])

    def one(b, q, kk, vv, **given):
        c = base.prepare(q, kk, vv, **given)
        allowed = base.allowed_of(c)
        with np.errstate(all="ignore"):
            weights, lse = base.softmax(c, base.excluded(base.biased(c, base.scores_of(c)), allowed), allowed)
            out = weights @ base.heads(c, c.v)
        return {"output": base.rounded(c, out), "logsumexp": lse}

    return base.paged(query, k, v, pages, lengths, query_lengths, mask, one=one, **rest)
