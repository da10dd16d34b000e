import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = np.asarray(encoder_states), np.asarray(decoder_state)
    base.check_context(encoder_states, decoder_state, width=False)
    states, query = base.wide(encoder_states), base.wide(decoder_state)
    scale = states.dtype.type(base.default_scale(states.shape[1], scale))
    with np.errstate(all="ignore"):
        raw = np.sum(states * query, axis=-1)
        scores = raw * scale
        exponentials = np.exp(scores - scores.max(initial=-np.inf))
        weights = exponentials / exponentials.sum()
        context = np.sum(weights[:, None] * states, axis=0)
    return base.rounded(encoder_states.dtype, context, weights, scores, raw)
