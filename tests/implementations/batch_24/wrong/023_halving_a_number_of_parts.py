"""Halving a number of parts."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def exponentials(y, ok):
    with np.errstate(all="ignore"):
        top = y.max(axis=1)
        safe = np.where(top == -np.inf, 0, top)
        return top, safe, np.where(ok, np.exp(y - safe[:, None]), 0)


def merged(one, other):
    with np.errstate(all="ignore"):
        top = np.maximum(one[0], other[0])
        safe = np.where(top == -np.inf, 0, top)
        f = [np.where(x[0] == -np.inf, 0, np.exp(x[0] - safe)) for x in (one, other)]
        return top, one[1] * f[0] + other[1] * f[1], one[2] * f[0][:, None] + other[2] * f[1][:, None]


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    p = base.prepare(locals())
    out = np.zeros((p.B, p.Hq, p.Sq, p.Ev))
    lse = np.full((p.B, p.Hq, p.Sq), -np.inf)
    for b in range(p.B):
        for h in range(p.Hq):
            y, ok = base.logits_of(p, b, h)
            v = p.v[b, h // p.G]
            parts = []
            for j0 in range(0, p.T, 16):
                c = slice(j0, min(j0 + 16, p.T))
                top, safe, e = exponentials(y[:, c], ok[:, c])
                parts.append((top, e.sum(axis=1), base.weigh(e, ok[:, c], v[c])))
            stride = len(parts) // 2
            while stride:
                for n in range(stride):
                    if n + stride < len(parts):
                        parts[n] = merged(parts[n], parts[n + stride])
                stride //= 2
            top, total, acc = parts[0] if parts else (lse[b, h], np.zeros(p.Sq), out[b, h])
            if p.sinks is not None:
                top, total, acc = merged((top, total, acc), (np.full(p.Sq, p.sinks[h]), np.ones(p.Sq), np.zeros_like(acc)))
            with np.errstate(all="ignore"):
                out[b, h] = acc / np.where(total == 0, 1, total)[:, None]
                lse[b, h] = np.where(total == 0, -np.inf, np.log(total) + np.where(top == -np.inf, 0, top))
    return base.finish(p, out, logsumexp=lse)
