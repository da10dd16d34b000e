"""Holds a token in each column, projects query, key and value by one matrix where they are one, adds the value bias after
attending (only where a query attends to something), and sums the output projection head by head in a pairwise tree."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = base.DTYPES
conventions = {"masked_nonfinite": "propagates"}


def _tree(parts):
    return parts[0] if len(parts) == 1 else _tree(parts[:len(parts) // 2]) + _tree(parts[len(parts) // 2:])


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                         b_query=None, b_key=None, b_value=None, b_output=None,
                         mask=None, is_causal=False, scale=None):
    p = base.plan(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                  b_query, b_key, b_value, b_output, mask, is_causal, scale)
    allowed, bias = base.mask_terms(p.mask, p.is_causal, (p.B, p.H, p.Sq, p.Sk), p.acc)
    with np.errstate(all="ignore"):
        if query is key and key is value:
            stacked = np.concatenate((p.w_query, p.w_key, p.w_value), axis=1).T
            q, k, v = np.split(stacked @ p.query.swapaxes(1, 2), 3, axis=1)
        else:
            q, k, v = (w.T @ x.swapaxes(1, 2) for w, x in
                       ((p.w_query, p.query), (p.w_key, p.key), (p.w_value, p.value)))
        if p.b_query is not None:
            q = q + p.b_query[:, None]  # that of the keys changes nothing
        parts, weights = [], np.zeros(allowed.shape, p.acc)
        for h in range(p.H):
            own = slice(h * p.E, (h + 1) * p.E)
            scores = (k[:, own].swapaxes(1, 2) @ q[:, own]) * p.scale  # (B, Sk, Sq)
            if bias is not None:
                scores = scores + np.broadcast_to(bias, allowed.shape)[:, h].swapaxes(1, 2)
            seen = allowed[:, h].swapaxes(1, 2)
            scores = np.where(seen, scores, -np.inf).astype(p.acc)
            some = seen.any(axis=1, keepdims=True)
            top = np.where(some, scores.max(axis=1, keepdims=True, initial=-np.inf), 0).astype(p.acc)
            e = np.exp(scores - top)
            e = e / np.where(some, e.sum(axis=1, keepdims=True), 1).astype(p.acc)
            weights[:, h] = e.swapaxes(1, 2)
            mixed = v[:, own] @ e  # (B, E, Sq)
            if p.b_value is not None:
                mixed = mixed + p.b_value[own][:, None] * some
            parts.append(p.w_output[own].T @ mixed)
        output = _tree(parts)
        if p.b_output is not None:
            output = output + p.b_output[:, None]
    return {"output": base.narrow(output.swapaxes(1, 2), p.dtype), "weights": base.narrow(weights, p.dtype)}
