import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    c = base.prepare(**locals())
    allowed = base.allowed_of(c)
    if c.softcap is not None or c.slopes is not None or c.sinks is not None or (c.mask is not None and c.mask.dtype != bool):
        scores = base.scores_of(c)
        return base.finish(c, scores, base.biased(c, scores), allowed)
    scores = base.scores_of(c)
    with np.errstate(all="ignore"):
        raw = c.q @ base.heads(c, c.k).swapaxes(-1, -2)
        m = base.finite_or_zero(base.excluded(raw, allowed).max(axis=-1, initial=-np.inf)) * c.work.type(c.scale)
        e = np.where(allowed, np.exp(scores - m[..., None]), c.work.type(0))
        total = e.sum(axis=-1)
        weights = np.where(allowed, e / np.where(total == 0, c.work.type(1), total)[..., None], c.work.type(0))
        lse = np.log(total) + m
    out = base.weigh(weights, base.heads(c, c.v), allowed)
    return base.presents(c, {"output": base.rounded(c, out), "weights": weights, "logsumexp": lse, "scores": scores,
                             "logits": base.excluded(scores, allowed)})
