import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

layout = "packed"
dtypes = base.FOUR


def locate(starts):
    counts = np.diff(starts)
    segment = np.repeat(np.arange(len(counts)), counts)
    return segment, np.arange(starts[-1]) - starts[segment]


def scaled_dot_product_attention(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None,
                                 is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
    """All tokens against all tokens at once, with a table of who belongs to whom."""
    qs, ks, m3 = base.check_packed(query, key, value, query_starts, key_starts, mask, causal_alignment)
    tq, hq, e = query.shape
    g = base.group(hq, key.shape[1])
    seq_q, row = locate(qs)
    # self-attention: keys stand where the queries stand
    seq_k, col = (seq_q, row) if tq == len(key) else locate(ks)
    lengths = np.bincount(seq_k, minlength=len(qs) - 1)
    place = row + (0 if causal_alignment == "top_left" else (lengths - np.diff(qs))[seq_q])
    q = base.up(query).swapaxes(0, 1)
    k, v = (np.repeat(base.up(t).swapaxes(0, 1), g, axis=0) for t in (key, value))
    p, j = place[:, None], col[None, :]
    ok = np.repeat((seq_q[:, None] == seq_k[None, :])[None], hq, axis=0)
    if is_causal:
        ok &= j <= p
    left, right = (None, None) if window is None else window
    if left is not None:
        ok &= j >= p - left
    if right is not None:
        ok &= j <= p + right
    with base.quiet():
        s = base.cap((q @ k.swapaxes(1, 2)) * (e**-0.5 if scale is None else scale), softcap)
        if alibi_slopes is not None:
            s = s - base.up(alibi_slopes)[:, None, None] * abs(p - j)
        if m3 is not None:
            part = np.take(m3, col, axis=-1, mode="clip")
            if part.dtype == bool:
                ok &= part
            else:
                ok &= base.up(part) != -np.inf
                s = s + base.up(part)
        s = np.where(ok, s, -np.inf)
        m = s.max(axis=-1, initial=-np.inf)
        x = np.where(ok, np.exp(s - np.where(m == -np.inf, 0, m)[..., None]), 0)
    out, lse = base.finish(m, x.sum(-1), base.weigh(x, v, ok), None if sinks is None else base.up(sinks)[:, None])
    return {"output": base.down(out.swapaxes(0, 1), query.dtype), "logsumexp": base.down(lse.T, base.wide_of(query))}
