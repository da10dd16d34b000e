"""Empty part weighs one."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def part(y, ok, v):
    with np.errstate(all="ignore"):
        top = y.max(axis=1)
        top = np.where(top == -np.inf, 0, top)
        e = np.where(ok, np.exp(y - top[:, None]), 0)
        total = e.sum(axis=1)
        total = np.where(total == 0, 1, total)
        return base.weigh(e, ok, v) / total[:, None], top + np.log(total)


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    p = base.prepare(locals())
    out, _, lse = base.blank(p)
    for b in range(p.B):
        for h in range(p.Hq):
            y, ok = base.logits_of(p, b, h)
            v = p.v[b, h // p.G]
            outs, ends = [], []
            for j0 in range(0, p.T, 32):
                o, a = part(y[:, j0 : j0 + 32], ok[:, j0 : j0 + 32], v[j0 : j0 + 32])
                outs.append(o)
                ends.append(a)
            if p.sinks is not None:
                outs.append(np.zeros((p.Sq, p.Ev)))
                ends.append(np.full(p.Sq, p.sinks[h]))
            dead = ~ok.any(axis=1)
            if not outs:
                continue
            share, whole = base.softmax_row(np.stack(ends, axis=1))
            with np.errstate(all="ignore"):
                mixed = sum(share[:, n, None] * o for n, o in enumerate(outs))
            out[b, h] = np.where(dead[:, None], 0, mixed)
            lse[b, h] = np.where(dead, -np.inf if p.sinks is None else p.sinks[h], whole)
    return base.finish(p, out, logsumexp=lse)
