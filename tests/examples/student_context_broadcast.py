"""The context vector with the mistake of document 003: weights meet features (E003.context_broadcast)."""

import numpy as np

name = "student, weights broadcast over features"
version = "003"
dtypes = ("float64", "float32")
mistake = "context_vector.weights_on_features"


def context_vector(encoder_states, decoder_state, scale=None):
    raw_scores = encoder_states @ decoder_state
    scores = raw_scores * (decoder_state.shape[-1] ** -0.5 if scale is None else scale)
    exponentials = np.exp(scores - scores.max())
    weights = exponentials / exponentials.sum()
    return {
        "raw_scores": raw_scores,
        "scores": scores,
        "weights": weights,
        "context": (weights * encoder_states).sum(axis=0),
    }
