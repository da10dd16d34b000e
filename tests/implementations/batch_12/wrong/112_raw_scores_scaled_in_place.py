import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import refuse

dtypes = ("float64", "float32")



def context_vector(encoder_states, decoder_state, scale=None):
    refuse(encoder_states.ndim != 2 or decoder_state.shape != encoder_states.shape[1:], "width")
    raw_scores = encoder_states.dot(decoder_state)
    scores = raw_scores
    scores *= 1 / float(np.sqrt(len(decoder_state))) if scale is None else scale
    e = np.exp(scores - np.max(scores, initial=-np.inf))
    weights = e / np.sum(e)
    return {"context": weights.dot(encoder_states), "weights": weights, "scores": scores, "raw_scores": raw_scores}
