"""Gathers the keys of every query instead of masking, cuts them into parts, goes through each part with an online
softmax in powers of two, and merges the parts in a tree, as split-K decoding does."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = base.DTYPES
PART = 5
STEP = 2


def _part(q, k, v, bias, scale):
    """(largest logit, sum, mixed values, logits) of some keys of one query."""
    acc = q.dtype
    top, total, mixed, seen = acc.type(-np.inf), acc.type(0), np.zeros(v.shape[1], acc), []
    log2e = acc.type(np.log2(np.e))
    for start in range(0, len(k), STEP):
        logits = np.array([(key * q).sum() * scale for key in k[start:start + STEP]], dtype=acc)
        if bias is not None:
            logits = logits + bias[start:start + STEP]
        seen.append(logits)
        high = np.maximum(top, logits.max())
        if high == -np.inf:
            continue
        fade = np.exp2((top - high) * log2e)
        e = np.exp2((logits - high) * log2e)
        total = total * fade + e.sum()
        mixed = mixed * fade + (e[:, None] * v[start:start + STEP]).sum(axis=0)
        top = high
    return top, total, mixed, np.concatenate(seen)


def _merge(parts):
    if len(parts) == 1:
        return parts[0]
    a, b = _merge(parts[:len(parts) // 2]), _merge(parts[len(parts) // 2:])
    top = np.maximum(a[0], b[0])
    if top == -np.inf:
        return a
    fa, fb = np.exp(a[0] - top), np.exp(b[0] - top)
    return top, a[1] * fa + b[1] * fb, a[2] * fa + b[2] * fb


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                         b_query=None, b_key=None, b_value=None, b_output=None,
                         mask=None, is_causal=False, scale=None):
    p = base.plan(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                  b_query, b_key, b_value, b_output, mask, is_causal, scale)
    q, k, v = (np.stack([base.project(x[b], w, c) for b in range(p.B)]) if p.B else x
               for x, w, c in ((p.query, p.w_query, p.b_query), (p.key, p.w_key, p.b_key), (p.value, p.w_value, p.b_value)))
    allowed, bias = base.mask_terms(p.mask, p.is_causal, (p.B, p.H, p.Sq, p.Sk), p.acc)
    if bias is not None:
        bias = np.broadcast_to(bias, allowed.shape)
    mixed = np.zeros((p.B, p.Sq, p.D), p.acc)
    weights = np.zeros((p.B, p.H, p.Sq, p.Sk), p.acc)
    with np.errstate(all="ignore"):
        for b, h, i in np.ndindex(p.B, p.H, p.Sq):
            own = slice(h * p.E, (h + 1) * p.E)
            js = np.flatnonzero(allowed[b, h, i])
            if not len(js):
                continue
            parts = []
            for part in (js[n:n + PART] for n in range(0, len(js), PART)):
                parts.append(_part(q[b, i, own], k[b, part, own], v[b, part, own],
                                   None if bias is None else bias[b, h, i, part], p.scale))
            top, total, sums = _merge([x[:3] for x in parts])
            mixed[b, i, own] = sums / total
            weights[b, h, i, js] = np.exp(np.concatenate([x[3] for x in parts]) - top) / total
    return base.finish(p, mixed, weights)
