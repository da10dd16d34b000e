import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged_heads_first"


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None,
                                 sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    rest = dict(sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal, causal_alignment=causal_alignment,
                scale=scale, softcap=softcap, window=window)
    query, k, v = base.pools(query, key_pool, value_pool, True)
    size = k.shape[1]
    pages, lengths = base.table_pages(block_table, key_lengths, len(query), size)

    def one(b, q, kk, vv, **given):
        c = base.prepare(q, kk, vv, **given)
        allowed = base.allowed_of(c)
        if c.left is not None and c.Sq:  # pages before the window are not visited
            allowed[..., : max(0, int(c.p[0, -1]) - c.left) // size * size] = False
        scores = base.scores_of(c)
        return base.finish(c, scores, base.biased(c, scores), allowed)

    return base.paged(query, k, v, pages, lengths, query_lengths, mask, one=one, **rest)
