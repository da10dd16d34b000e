"""All tokens at once; sequences are told apart by a running count of marks."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
layout = "packed"


def scaled_dot_product_attention(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    if query.ndim != 3 or key.ndim != 3 or value.ndim != 3:
        raise ValueError("rank")
    qs, ks = (np.asarray(a).astype(int) for a in (query_starts, key_starts))

    def sequence(starts, tokens):
        marks = np.zeros(tokens + 1, int)
        marks[starts[1:-1]] = 1
        return np.cumsum(marks)[:tokens]

    qid, kid = sequence(qs, len(query)), sequence(ks, len(key))
    N, L = np.diff(qs), np.diff(ks)
    i = np.arange(len(query)) - qs[:-1][qid]
    j = np.arange(len(key)) - ks[:-1][kid]
    p = i if causal_alignment == "top_left" else i + L[qid] - N[qid]
    c = base.prepare(*(a.swapaxes(0, 1)[None] for a in (query, key, value)), sinks=sinks, scale=scale, softcap=softcap)
    ok = qid[:, None] == kid
    if is_causal:
        ok &= j <= p[:, None]
    if window is not None:
        if window[0] is not None:
            ok &= j >= p[:, None] - window[0]
        if window[1] is not None:
            ok &= j <= p[:, None] + window[1]
    c.ok = np.broadcast_to(ok, (1, c.H, c.Sq, c.T))
    with np.errstate(all="ignore"):
        x = base.capped(c, base.scores(c))
        if alibi_slopes is not None:
            x = x - alibi_slopes.astype(c.work)[:, None, None] * np.abs(p[:, None] - j).astype(c.work)
        if mask is not None:
            bias = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)[..., np.minimum(j, mask.shape[-1] - 1)] if mask.shape[-1] else None
            if bias is not None and mask.dtype == bool:
                c.ok = c.ok & bias
            elif bias is not None:
                c.ok = c.ok & (bias != -np.inf)
                x = x + np.where(bias == -np.inf, 0, bias.astype(c.work))
    weights, lse = base.softmax(c, base.excluded(c, x))
    output = base.finish(c, base.weigh(weights, c.ok, base.shared(c, c.v)))["output"]
    return {"output": output[0].swapaxes(0, 1), "logsumexp": base.wide(c, l=lse)["l"][0].T}
