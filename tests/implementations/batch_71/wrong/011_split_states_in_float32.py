import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


CHUNK = 32


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
        parts = [base.state(S, logits, ok, lo, lo + CHUNK) for lo in range(0, S.T, CHUNK)]
        merged = base.empty_state(S)
        for part in parts:
            stored = [np.asarray(x, np.float32) for x in part] if S.out == np.float64 else part  # the workspace
            merged = base.join(merged, [x.astype(S.work) for x in stored])
        if S.sinks is not None:
            merged = base.join(merged, base.sink_state(S))
        output, logsumexp = base.read_state(merged)
        return base.results(S, output, logsumexp=logsumexp)
