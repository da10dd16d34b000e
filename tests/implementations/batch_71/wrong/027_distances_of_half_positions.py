import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None,
                                 key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
                                 scale=None, softcap=None, window=None, output_dtype=None):
    args = dict(locals())
    S = base.setup(**args)
    if S.slopes is None or S.out not in base.HALF:
        return base.finish(S)
    p = base.positions(S).astype(np.float32).astype(S.out).astype(S.work)
    j = np.arange(S.T).astype(np.float32).astype(S.out).astype(S.work)
    bias = -S.slopes[:, None, None] * np.abs(p[..., None] - j)
    S.slopes, mask = None, S.mask
    with np.errstate(all="ignore"):
        ok, scores = base.allowed(S), base.raw_scores(S)
        S.mask = None
        logits = base.to_logits(S, scores, ok) + bias
        if mask is not None and mask.dtype != bool:
            logits = logits + mask.astype(S.work)
        logits = np.where(ok, logits, -np.inf)
        weights, logsumexp = base.normalise(S, logits)
        output = base.weighted(weights, np.repeat(S.v, S.G, axis=1), ok)
    return base.results(S, output, weights, logsumexp, scores, logits)
