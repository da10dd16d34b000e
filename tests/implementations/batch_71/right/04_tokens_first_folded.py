"""Tokens before heads; the heads of a group are rows of one product, the query is scaled first, keys are summed backwards."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "bshe"


def heads_first(array):
    return None if array is None else np.swapaxes(array, 1, 2) if np.ndim(array) == 4 else array


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    args = dict(locals())
    for name in ("query", "key", "value", "past_key", "past_value"):
        args[name] = heads_first(args[name])
    S = base.setup(**args, work=np.float32)
    with np.errstate(all="ignore"):
        q = (S.q * S.work.type(S.scale)).reshape(S.B, S.Hkv, S.G * S.Sq, S.E)
        scores = np.einsum("bgre,bgje->bgrj", q, S.k).reshape(S.B, S.Hq, S.Sq, S.T)
        ok = base.allowed(S)
        logits = base.to_logits(S, scores, ok)
        top = np.full((S.B, S.Hq, S.Sq, 1), -np.inf, S.work)
        for j in range(S.T):
            top = np.maximum(top, logits[..., j:j + 1])
        top = np.where(top == -np.inf, S.work.type(0), top)
        if S.sinks is not None:
            top = np.maximum(top, S.sinks[:, None, None])
        weights = np.exp(logits - top)
        total = np.ones_like(top) * 0
        for j in reversed(range(S.T)):
            total = total + weights[..., j:j + 1]
        if S.sinks is not None:
            total = total + np.exp(S.sinks[:, None, None] - top)
        weights = weights / base.some(total)
        output = base.weighted(weights, np.repeat(S.v, S.G, axis=1), ok)
    return {"output": np.ascontiguousarray(np.swapaxes(output, 1, 2)).astype(S.out)}
