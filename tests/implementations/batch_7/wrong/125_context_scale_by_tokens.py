import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


def context_vector(encoder_states, decoder_state, scale=None):
    if encoder_states.shape[1] != decoder_state.shape[0]:
        raise ValueError("widths differ")
    raw = np.einsum("sd,d->s", encoder_states, decoder_state)
    scores = raw * (1 / math.sqrt(len(encoder_states)) if scale is None else scale)
    weights = np.exp(scores - scores.max())
    weights = weights / weights.sum()
    return {"context": np.einsum("s,sd->d", weights, encoder_states), "weights": weights, "scores": scores, "raw_scores": raw}
