import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def leaf(l, v):
    m = l.max()
    with np.errstate(all="ignore"):
        e = np.exp(l - (m if m != -np.inf else 0))
        total = e.sum()
        return m, total, ((e / (total if total != 0 else 1))[:, None] * v).sum(axis=0)


def both(a, b):
    m = np.maximum(a[0], b[0])
    with np.errstate(all="ignore"):
        safe = m if m != -np.inf else 0
        x, y = np.exp(a[0] - safe), np.exp(b[0] - safe)
        x, y = a[1] * x, b[1] * y
        total = x + y if x + y != 0 else 1
        return m, x + y, a[2] * (x / total) + b[2] * (y / total)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    """Each query gathers its keys; leaves of three keys are merged in a pairwise tree, the sink a leaf of its own."""
    c = base.prepare(**locals())
    allowed = base.allowed_of(c)
    logits = base.biased(c, base.scores_of(c))
    out = np.zeros((c.B, c.Hq, c.Sq, c.Ev), c.work)
    lse = np.full((c.B, c.Hq, c.Sq), -np.inf, c.work)
    for b, h, i in np.ndindex(c.B, c.Hq, c.Sq):
        chosen = np.flatnonzero(allowed[b, h, i])
        l, v = logits[b, h, i, chosen], c.v[b, h // c.G, chosen]
        states = [leaf(l[n:n + 3], v[n:n + 3]) for n in range(0, len(chosen), 3)]
        if c.sinks is not None and c.sinks[h] != -np.inf:
            states.insert(0, (c.sinks[h], c.work.type(1), np.zeros(c.Ev, c.work)))
        while len(states) > 1:
            states = [both(*states[n:n + 2]) if n + 1 < len(states) else states[n] for n in range(0, len(states), 2)]
        if states:
            m, total, acc = states[0]
            with np.errstate(all="ignore"):
                out[b, h, i] = acc
                lse[b, h, i] = np.log(total) + (m if m != -np.inf else 0)
    return base.presents(c, {"output": base.rounded(c, out), "logsumexp": lse})
