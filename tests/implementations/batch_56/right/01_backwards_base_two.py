import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


LOG2E = 1.4426950408889634


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    """Online softmax from the last tile of 7 keys to the first, in powers of two."""
    c = base.prepare(**locals())
    allowed = base.allowed_of(c)
    logits = base.excluded(base.biased(c, base.scores_of(c)), allowed)
    v = base.heads(c, c.v)
    one = c.work.type(LOG2E)
    m, total, acc = base.nothing(c)
    with np.errstate(all="ignore"):
        if c.sinks is not None:
            m, total, acc = base.sink_part(c, m.shape)
        for stop in range(c.K, 0, -7):
            start = max(0, stop - 7)
            l, a = logits[..., start:stop], allowed[..., start:stop]
            new = np.maximum(m, l.max(axis=-1))
            safe = base.finite_or_zero(new)
            e = np.where(a, np.exp2((l - safe[..., None]) * one), c.work.type(0))
            shrink = np.where(m == -np.inf, c.work.type(0), np.exp2((m - safe) * one))
            kept = total * shrink
            total = kept + e.sum(axis=-1)
            whole = base.nonzero(total)
            acc = acc * (kept / whole)[..., None] + base.weigh(e / whole[..., None], v[:, :, start:stop], a)
            m = new
        lse = np.log2(total) / one + base.finite_or_zero(m)
    return base.presents(c, {"output": base.rounded(c, acc), "logsumexp": lse})
