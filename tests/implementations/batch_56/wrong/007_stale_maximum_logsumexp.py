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
    used, total, acc = base.nothing(c)
    true = used
    with np.errstate(all="ignore"):
        for start in range(0, c.K, 16):
            l, a = logits[..., start:start + 16], allowed[..., start:start + 16]
            true = np.maximum(true, l.max(axis=-1))
            new = np.where(true - used > 8, true, used)  # small rises are not worth a rescaling
            shrink = np.where(new == used, c.work.type(1), np.exp(used - base.finite_or_zero(new)))
            e = np.where(a, np.exp(l - base.finite_or_zero(new)[..., None]), c.work.type(0))
            kept = total * shrink
            total = kept + e.sum(axis=-1)
            whole = base.nonzero(total)
            acc = acc * (kept / whole)[..., None] + base.weigh(e / whole[..., None], v[:, :, start:start + 16], a)
            used = new
        ahead = np.where(true == used, c.work.type(0), true - used)
        state = (used, total, acc)
        if c.sinks is not None:
            state = base.joined(state, base.sink_part(c, used.shape))
        out, lse = base.closed(state)
        lse = lse + ahead
    return base.presents(c, {"output": base.rounded(c, out), "logsumexp": lse})
