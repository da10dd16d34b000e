import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = np.asarray(encoder_states), np.asarray(decoder_state)
    base.check_context(encoder_states, decoder_state)
    states, query = base.wide(encoder_states), base.wide(decoder_state)
    scale = states.dtype.type(base.default_scale(states.shape[1], scale))
    tokens, width = states.shape
    largest, total = states.dtype.type(-np.inf), states.dtype.type(0)
    context, weights = np.zeros(width, states.dtype), np.zeros(tokens, states.dtype)
    with np.errstate(all="ignore"):
        raw = states @ query
        scores = raw * scale
        for start in range(0, tokens, 32):
            tile = slice(start, start + 32)
            new = np.maximum(largest, scores[tile].max())
            shrink = np.exp(largest - new)
            exponentials = np.exp(scores[tile] - new)
            total = total * shrink + exponentials.sum()
            context = context * shrink + exponentials @ states[tile]
            weights[tile] = exponentials
            largest = new
        weights, context = weights / total, context / total
    return base.rounded(encoder_states.dtype, context, weights, scores, raw)
