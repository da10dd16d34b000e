import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    c = base.prepare(**locals())
    p = c.p
    if c.G > 1:  # queries of a group share a tile of 16 rows
        row = np.arange(c.Sq) * c.G + np.arange(c.G)[:, None]
        first = row // 16 * 16
        at = first // c.G + (row - first) // c.G
        p = c.p[:, None, :1] + np.tile(at, (c.Hkv, 1))[None] if c.Sq else c.p
    allowed = base.allowed_of(c, p)

    scores = base.scores_of(c)
    return base.finish(c, scores, base.biased(c, scores), allowed)
