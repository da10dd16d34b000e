import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


CHUNK = 16


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None,
                                 key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
                                 scale=None, softcap=None, window=None, output_dtype=None):
    args = dict(locals())
    S = base.setup(**args)
    if S.Sq != 1 or S.T <= CHUNK:
        return base.finish(S)
    with np.errstate(all="ignore"):
        ok = base.allowed(S)
        logits = base.to_logits(S, base.raw_scores(S), ok)
        merged = base.empty_state(S)
        for lo in range(0, S.T, CHUNK):
            part = base.state(S, logits, ok, lo, lo + CHUNK)
            if S.sinks is not None:
                part = base.join(part, base.sink_state(S))
            merged = base.join(merged, part)
        output, logsumexp = base.read_state(merged)
        return base.results(S, output, logsumexp=logsumexp)
