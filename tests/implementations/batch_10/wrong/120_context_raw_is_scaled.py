import math
import numpy as np


def context_vector(encoder_states, decoder_state, scale=None):
    if encoder_states.shape[1] != decoder_state.shape[0]:
        raise ValueError("width")
    raw = np.einsum("jd,d->j", encoder_states, decoder_state)
    scores = raw
    scores *= 1 / math.sqrt(len(decoder_state)) if scale is None else scale
    weights = np.exp(scores - np.logaddexp.reduce(scores))
    return {"context": weights @ encoder_states, "weights": weights, "scores": scores, "raw_scores": raw}

dtypes = ("float64", "float32")
