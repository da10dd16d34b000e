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
    allowed = base.allowed_of(c)
    if c.slopes is None or c.dtype.name not in ("bfloat16", "float16"):
        return base.finish(c, scores, base.biased(c, scores), allowed)
    slopes, mask, c.slopes, c.mask = c.slopes, c.mask, None, None
    logits = base.biased(c, scores)
    p, j = c.p.astype(c.dtype).astype(c.work), np.arange(c.K).astype(c.dtype).astype(c.work)
    logits = logits - slopes[None, :, None, None] * np.abs(p[:, :, None] - j)[:, None]
    if mask is not None and mask.dtype != bool:
        with np.errstate(all="ignore"):
            logits = logits + mask.astype(c.work)
    return base.finish(c, scores, logits, allowed)
