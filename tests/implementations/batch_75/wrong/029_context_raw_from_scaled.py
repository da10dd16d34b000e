import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    states, query = np.asarray(encoder_states), np.asarray(decoder_state)
    base.check_context(states, query)
    dtype = states.dtype
    states, query = base.widen(states), base.widen(query)
    scale = base.wide(dtype).type(base.default_scale(scale, states.shape[1]))
    scores = states @ (query * scale)
    weights = np.exp(scores - scores.max())
    weights = weights / weights.sum()
    with np.errstate(all="ignore"):
        raw = scores / scale
    return base.context_outputs(dtype, context=weights @ states, weights=weights, scores=scores, raw_scores=raw)
