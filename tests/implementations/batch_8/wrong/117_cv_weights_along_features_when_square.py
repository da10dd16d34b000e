import numpy as np


def context_vector(encoder_states, decoder_state, scale=None):
    if encoder_states.ndim != 2 or decoder_state.ndim != 1 or encoder_states.shape[1] != decoder_state.shape[0]:
        raise ValueError("the states do not fit")
    n, width = encoder_states.shape
    raw = np.array([(state * decoder_state).sum() for state in encoder_states], dtype=encoder_states.dtype)
    scores = raw * raw.dtype.type(width ** -0.5 if scale is None else scale)
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    context = np.zeros(width, encoder_states.dtype)
    table = encoder_states if n != width else encoder_states.T
    for weight, state in zip(weights, table):
        context += weight * state
    return {"context": context, "weights": weights, "scores": scores, "raw_scores": raw}

dtypes = ("float64", "float32")
