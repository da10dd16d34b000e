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
    if S.Sq != 1 or S.out not in base.HALF:
        return base.finish(S)
    with np.errstate(all="ignore"):
        ok = base.allowed(S)
        scores = base.raw_scores(S)
        logits = base.to_logits(S, scores, ok)
        top = logits.max(axis=-1, keepdims=True, initial=-np.inf)
        if S.sinks is not None:
            top = np.maximum(top, S.sinks[:, None, None])
        top = np.where(top == -np.inf, 0, top)
        e = np.exp(logits - top)
        total = np.zeros(top.shape, S.out)
        for j in range(S.T):
            total = total + e[..., j:j + 1].astype(S.out)
        total = total.astype(S.work)
        if S.sinks is not None:
            total = total + np.exp(S.sinks[:, None, None] - top)
        weights = np.where(total == 0, 0, e / np.where(total == 0, 1, total))
        output = base.weighted(weights, np.repeat(S.v, S.G, axis=1), ok)
        return base.results(S, output, weights, (top + np.log(total))[..., 0], scores, logits)
