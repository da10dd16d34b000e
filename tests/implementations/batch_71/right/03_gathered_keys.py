"""Every query gathers the keys that it may attend to, last ones first, and sums them by fsum where numbers are finite."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import math

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def total_of(terms):
    try:
        return math.fsum(terms) if np.isfinite(terms).all() else float(np.sum(terms))
    except OverflowError:
        return float(np.sum(terms))


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None,
                                 key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
                                 scale=None, softcap=None, window=None, output_dtype=None):
    S = base.setup(**dict(locals()))
    output = np.zeros((S.B, S.Hq, S.Sq, S.Ev))
    logsumexp = np.full((S.B, S.Hq, S.Sq), -np.inf)
    weights = np.zeros((S.B, S.Hq, S.Sq, S.T))
    added = None if S.mask is None or S.mask.dtype == bool else np.broadcast_to(S.mask.astype(float), weights.shape)
    with np.errstate(all="ignore"):
        ok = base.allowed(S)
        for b, h, i in np.ndindex(S.B, S.Hq, S.Sq):
            j = np.flatnonzero(ok[b, h, i])[::-1]
            g, p = h // S.G, S.start[b] + i
            logits = (S.k[b, g, j] * S.q[b, h, i]).sum(axis=-1) * S.scale
            if S.cap:
                logits = np.tanh(logits / S.cap) * S.cap
            if S.slopes is not None:
                logits = logits - S.slopes[h] * np.abs(p - j)
            if added is not None:
                logits = logits + added[b, h, i, j]
            every = logits if S.sinks is None else np.append(logits, S.sinks[h])
            if not len(every):
                continue
            top = every.max()
            e = np.exp(every - (0 if top == -np.inf else top))
            total = total_of(e)
            share = e[:len(j)] / total
            weights[b, h, i, j] = share
            logsumexp[b, h, i] = top + np.log(total)
            terms = share[:, None] * S.v[b, g, j]
            output[b, h, i] = [total_of(terms[:, n]) for n in range(S.Ev)]
    return base.results(S, output, weights, logsumexp)
