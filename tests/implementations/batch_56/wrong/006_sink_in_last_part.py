import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    c = base.prepare(**locals())
    logits, allowed = base.biased(c, base.scores_of(c)), base.allowed_of(c)
    logits = base.excluded(logits, allowed)
    state = base.nothing(c)
    last = max(0, c.K - 1) // 8 * 8
    for start in range(0, max(c.K, 1), 8):
        state = base.joined(state, base.part(c, logits, allowed, start, start + 8))
        if c.sinks is not None and start == last:
            m, total, acc = base.sink_part(c, state[0].shape)
            ended = ((c.L <= start) & (start > 0))[:, None, None]  # parts behind the last key are not run
            state = base.joined(state, (np.where(ended, c.work.type(-np.inf), m), np.where(ended, c.work.type(0), total), acc))
    out, lse = base.closed(state)
    return base.presents(c, {"output": base.rounded(c, out), "logsumexp": lse})
