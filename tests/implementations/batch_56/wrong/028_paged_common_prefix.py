import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged"


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None,
                                 sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    rest = dict(sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal, causal_alignment=causal_alignment,
                scale=scale, softcap=softcap, window=window)
    query, k, v = base.pools(query, key_pool, value_pool, False)
    size = k.shape[1]
    pages, lengths = base.table_pages(block_table, key_lengths, len(query), size)
    prefix = 0
    if len(query) > 1 and window is None and causal_alignment == "bottom_right":
        for column in range(int(lengths.min()) // size):
            if any(pages[b][column] != pages[0][column] for b in range(len(query))):
                break
            prefix += size

    def one(b, q, kk, vv, **given):
        c = base.prepare(q, kk, vv, **given)
        allowed = base.allowed_of(c)
        allowed[..., :prefix] = base.allowed_of(c, causal=False)[..., :prefix]  # all that is shared lies before the queries
        scores = base.scores_of(c)
        return base.finish(c, scores, base.biased(c, scores), allowed)

    return base.paged(query, k, v, pages, lengths, query_lengths, mask, one=one, **rest)
