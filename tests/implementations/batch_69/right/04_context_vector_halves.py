import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math

import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def state(scores, states):
    """(top, total, mixed) of some tokens: cut in halves down to one, and merged."""
    if len(scores) == 1:
        return scores[0], scores.dtype.type(1), states[0]
    half = len(scores) // 2
    a, b = state(scores[:half], states[:half]), state(scores[half:], states[half:])
    top = max(a[0], b[0])
    left, right = np.exp2(a[0] - top), np.exp2(b[0] - top)
    return top, a[1] * left + b[1] * right, a[2] * left + b[2] * right


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = np.asarray(encoder_states), np.asarray(decoder_state)
    base.check_context(encoder_states, decoder_state)
    if not len(encoder_states):
        return base.context_vector(encoder_states, decoder_state, scale)
    dtype = encoder_states.dtype
    kind = base.carrier(dtype)
    states, asks = encoder_states.astype(kind), decoder_state.astype(kind)
    scale = kind(1 / math.sqrt(states.shape[1]) if scale is None else scale)
    with np.errstate(all="ignore"):
        raw = np.array([math.fsum(row) for row in (states * asks)], kind) if np.isfinite(states * asks).all() else states @ asks
        scores = raw * scale
        turned = scores * kind(math.log2(math.e))
        top, total, mixed = state(turned, states)
        weights = np.exp2(turned - top) / total
        context = mixed / total
    return {
        "context": base.rounded(context, dtype),
        "weights": base.rounded(weights, dtype),
        "scores": base.rounded(scores, dtype),
        "raw_scores": base.rounded(raw, dtype),
    }
