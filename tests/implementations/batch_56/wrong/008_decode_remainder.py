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
    if c.Sq != 1 or c.K < 16:
        return base.finish(c, base.scores_of(c), logits, allowed)
    logits = base.excluded(logits, allowed)
    parts = min(4, c.K // 8)
    size = c.K // parts
    state = base.nothing(c)
    for n in range(parts):
        state = base.joined(state, base.part(c, logits, allowed, n * size, (n + 1) * size))
    if c.sinks is not None:
        state = base.joined(state, base.sink_part(c, state[0].shape))
    out, lse = base.closed(state)
    return base.presents(c, {"output": base.rounded(c, out), "logsumexp": lse})
