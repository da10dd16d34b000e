"""Nan to num of the weights."""
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
        for h in range(p.Hq):
            sink = None if p.sinks is None else p.sinks[h]
            v = p.v[b, h // p.G]
            x, ok = base.logits_of(p, b, h)
            if sink is not None:
                x = np.concatenate([x, np.full((p.Sq, 1), sink)], axis=1)
            with np.errstate(all="ignore"):
                e = np.exp(x - x.max(axis=1, keepdims=True, initial=-np.inf))
                w = np.nan_to_num(e / e.sum(axis=1, keepdims=True))
                top = x.max(axis=1, initial=-np.inf)
                safe = np.where(np.isfinite(top), top, 0)
                lse[b, h] = np.log(np.exp(x - safe[:, None]).sum(axis=1)) + safe
            weights[b, h] = np.where(ok, w[:, : p.T], 0)
            out[b, h] = base.weigh(weights[b, h], ok, v)
    return base.finish(p, out, weights=weights, logsumexp=lse)
