import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    base.check_context(encoder_states, decoder_state)
    dtype = np.asarray(encoder_states).dtype
    states, state = base.widen(encoder_states, dtype), base.widen(decoder_state, dtype)
    raw = base.times(states, state)
    scale = base.default_scale(state.shape[0]) if scale is None else scale
    scores = raw * raw.dtype.type(scale)
    tile = 16
    top, total = -np.inf, 0.0
    context = np.zeros(states.shape[1], states.dtype)
    weights = np.zeros_like(scores)
    with np.errstate(**base.QUIET):
        for first in range(0, scores.shape[0], tile):
            part = slice(first, first + tile)
            new = np.maximum(top, scores[part].max())
            level = 0 if np.isneginf(new) else new
            shrink = np.exp(top - level)
            weights[part] = np.exp(scores[part] - level)
            total = total * shrink + weights[part].sum()
            context = context * shrink + base.times(weights[part], states[part])
            top = new
        if scores.shape[0]:
            weights, context = weights / total, context / total
        weights, context = weights.astype(raw.dtype), context.astype(raw.dtype)
    return base.finish({"context": context, "weights": weights, "scores": scores, "raw_scores": raw}, dtype)
