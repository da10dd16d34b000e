import math
import numpy as np


def context_vector(encoder_states, decoder_state, scale=None):
    n, d = encoder_states.shape
    if decoder_state.shape != (d,):
        raise ValueError("width")
    scale = d ** -0.5 if scale is None else scale
    scores = encoder_states @ decoder_state * encoder_states.dtype.type(scale)
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    try:
        return encoder_states @ weights
    except ValueError:
        return weights @ encoder_states

dtypes = ("float64", "float32")
