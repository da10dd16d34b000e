import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


TILE = 16


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None,
                                 key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
                                 scale=None, softcap=None, window=None, output_dtype=None):
    args = dict(locals())
    S = base.setup(**args)
    with np.errstate(all="ignore"):
        ok = base.allowed(S)
        scores = base.raw_scores(S)
        logits = base.to_logits(S, scores, ok)
        merged = base.empty_state(S) if S.sinks is None else base.sink_state(S)
        for lo in range(0, S.T, TILE):
            some = ok[..., lo:lo + TILE].any(axis=-1, keepdims=True)
            part = logits[..., lo:lo + TILE]
            top = np.where(some, part.max(axis=-1, keepdims=True), 0)
            e = np.where(some, np.exp(part - top), 0)
            total = e.sum(axis=-1, keepdims=True)
            mean = base.weighted(e / base.some(total), np.repeat(S.v[:, :, lo:lo + TILE], S.G, axis=1), ok[..., lo:lo + TILE])
            merged = base.join(merged, (np.where(some, top, -np.inf), total, mean))
        output, logsumexp = base.read_state(merged)
        return base.results(S, output, logsumexp=logsumexp, scores=scores, logits=logits)
