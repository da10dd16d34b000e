"""Dead by one exclusion alone."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    p = base.prepare(locals())
    out, weights, lse = base.blank(p)
    for b in range(p.B):
        near = base.by_position(p, b)
        for h in range(p.Hq):
            m = base.mask_of(p, b, h)
            shown = np.ones_like(near) if m is None else m if p.boolean else m != -np.inf
            dead = ~near.any(axis=1) | ~shown.any(axis=1)
            x, ok = base.logits_of(p, b, h)
            with np.errstate(all="ignore"):
                top = x.max(axis=1, initial=-np.inf)
                if p.sinks is not None:
                    top = np.maximum(top, p.sinks[h])
                top = np.where(dead & (top == -np.inf), 0, top)
                e = np.exp(x - top[:, None])
                total = e.sum(axis=1) + (0 if p.sinks is None else np.exp(p.sinks[h] - top))
                w = np.where(dead[:, None] | (ok.any(axis=1)[:, None] & ~ok), 0, e / total[:, None])
                lse[b, h] = np.log(total) + top
            weights[b, h] = w
            out[b, h] = np.where(dead[:, None], 0, base.weigh(w, ok, p.v[b, h // p.G]))
    return base.finish(p, out, weights=weights, logsumexp=lse)
