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
    v = base.heads(c, c.v)
    state = base.nothing(c)
    with np.errstate(all="ignore"):
        for start in range(0, c.K, 8):
            l, a = logits[..., start:start + 8], allowed[..., start:start + 8]
            m = l.max(axis=-1, initial=-np.inf)
            some = a.any(axis=-1)
            e = np.where(a, np.exp(l - np.where(some, m, c.work.type(0))[..., None]), c.work.type(0))
            total = e.sum(axis=-1)
            mean = base.weigh(e / base.nonzero(total)[..., None], v[:, :, start:start + 8], a)
            state = base.joined(state, (m, total, mean))
        if c.sinks is not None:
            state = base.joined(state, base.sink_part(c, state[0].shape))
    out, lse = base.closed(state)
    return base.presents(c, {"output": base.rounded(c, out), "logsumexp": lse})
