import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = np.asarray(encoder_states), np.asarray(decoder_state)
    base.check_context(encoder_states, decoder_state)
    states, query = base.wide(encoder_states), base.wide(decoder_state)
    scale = states.dtype.type(base.default_scale(states.shape[1], scale))
    with np.errstate(all="ignore"):
        raw = states @ query
        exponentials = np.exp((raw - raw.max(initial=-np.inf)) * scale)
        weights = exponentials / exponentials.sum()
        context = weights @ states
        scores = raw * scale
    return base.rounded(encoder_states.dtype, context, weights, scores, raw)
