import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    c = base.prepare(**locals())
    if c.work == np.float64:
        if query_scale is not None:
            s = base.scale_of(query_scale, c.B, c.Hkv, "query_scale")
            s = np.repeat(s, c.G, axis=1) if s.shape[1] == c.Hkv else s
            c.q = base.multiplied(np.asarray(query), s, np.dtype(np.float32)).astype(c.work)
        if key_scale is not None:
            s = base.scale_of(key_scale, c.B, c.Hkv, "key_scale")
            c.k = base.multiplied(c.present_key, s, np.dtype(np.float32)).astype(c.work)
        if value_scale is not None:
            s = base.scale_of(value_scale, c.B, c.Hkv, "value_scale")
            c.v = base.multiplied(c.present_value, s, np.dtype(np.float32)).astype(c.work)
    allowed = base.allowed_of(c)

    scores = base.scores_of(c)
    return base.finish(c, scores, base.biased(c, scores), allowed)
