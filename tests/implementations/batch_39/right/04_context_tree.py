"""Halves the tokens until one is left and merges the halves: largest score, sum of powers of two, and mixed states."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = base.DTYPES


def _state(scores, states, log2e):
    if len(scores) == 1:
        return scores[0], scores.dtype.type(1), states[0]
    half = (len(scores) + 1) // 2
    (ma, la, xa), (mb, lb, xb) = _state(scores[half:], states[half:], log2e), _state(scores[:half], states[:half], log2e)
    top = np.maximum(ma, mb)
    fa, fb = np.exp2((ma - top) * log2e), np.exp2((mb - top) * log2e)
    return top, la * fa + lb * fb, xa * fa + xb * fb


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = np.asarray(encoder_states), np.asarray(decoder_state)
    base.check_context(encoder_states, decoder_state)
    dtype = encoder_states.dtype
    acc = base.wide_dtype(dtype)
    states, asking = base.widen(encoder_states, acc), base.widen(decoder_state, acc)
    raw = np.zeros(len(states), acc)
    for e in reversed(range(states.shape[1])):  # feature by feature, the last one first
        raw = raw + states[:, e] * asking[e]
    scores = raw * base.context_scale(states.shape[1], scale, acc)
    if len(scores):
        with np.errstate(all="ignore"):
            log2e = acc.type(np.log2(np.e))
            top, total, mixed = _state(scores, states, log2e)
            context, weights = mixed / total, np.exp2((scores - top) * log2e) / total
    else:
        context, weights = np.zeros(states.shape[1], acc), scores
    return {"context": base.narrow(context, dtype), "weights": base.narrow(weights, dtype),
            "scores": base.narrow(scores, dtype), "raw_scores": base.narrow(raw, dtype)}
