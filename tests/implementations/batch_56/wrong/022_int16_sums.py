import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    c = base.prepare(**locals())
    scores = base.scores_of(c)
    if query_scale is not None and key_scale is not None and query.dtype == np.int8 and c.present_key.dtype == np.int8:
        k = base.heads(c, c.present_key).astype(np.int16)
        dots = (np.asarray(query).astype(np.int16) @ k.swapaxes(-1, -2)).astype(c.work)
        qs, ks = (base.scale_of(s, c.B, c.Hkv, "scale").astype(c.work) for s in (query_scale, key_scale))
        s = qs * ks
        s = np.repeat(s, c.G, axis=1) if s.shape[1] == c.Hkv else s
        scores = dots * s[:, :, None, None] * c.work.type(c.scale)
    return base.finish(c, scores, base.biased(c, scores), base.allowed_of(c))
