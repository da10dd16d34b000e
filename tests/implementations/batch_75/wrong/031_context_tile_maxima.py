import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


TILE = 32


def context_vector(encoder_states, decoder_state, scale=None):
    states, query = np.asarray(encoder_states), np.asarray(decoder_state)
    base.check_context(states, query)
    dtype = states.dtype
    states, query = base.widen(states), base.widen(query)
    raw = states @ query
    scores = raw * base.wide(dtype).type(base.default_scale(scale, states.shape[1]))
    maximum, total = -np.inf, states.dtype.type(0)
    context = np.zeros(states.shape[1], dtype=states.dtype)
    weights = np.zeros_like(scores)
    for start in range(0, len(scores), TILE):
        tile = slice(start, start + TILE)
        higher = max(maximum, scores[tile].max())
        weights[tile] = np.exp(scores[tile] - higher)
        correction = np.exp(maximum - higher)
        context = context * correction + weights[tile] @ states[tile]
        total = total * correction + weights[tile].sum()
        maximum = higher
    return base.context_outputs(dtype, context=context / total, weights=weights / total, scores=scores, raw_scores=raw)
