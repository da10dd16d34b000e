import math
import numpy as np


def context_vector(encoder_states, decoder_state, scale=None):
    if encoder_states.shape[1] != decoder_state.size:
        raise ValueError("width")
    raw = np.array([np.dot(state, decoder_state) for state in encoder_states])
    scores = raw * (1 / np.sqrt(raw.size) if scale is None else scale)
    e = np.exp(scores - max(scores))
    weights = e / e.sum()
    return {"context": np.sum(weights[:, None] * encoder_states, axis=0), "weights": weights}

dtypes = ("float64", "float32")
