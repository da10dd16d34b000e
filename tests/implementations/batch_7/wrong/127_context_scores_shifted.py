import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


def context_vector(encoder_states, decoder_state, scale=None):
    if encoder_states.shape[1] != decoder_state.shape[0]:
        raise ValueError("widths differ")
    raw = encoder_states.dot(decoder_state)
    scores = raw * (decoder_state.size ** -0.5 if scale is None else scale)
    weights = scores
    weights -= weights.max()
    weights = np.exp(weights)
    weights /= weights.sum()
    return {"context": (weights[:, None] * encoder_states).sum(axis=0), "weights": weights, "scores": scores, "raw_scores": raw}
