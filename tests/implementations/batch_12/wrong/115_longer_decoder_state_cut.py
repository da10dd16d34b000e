import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import softmax as _softmax

dtypes = ("float64", "float32")



def context_vector(encoder_states, decoder_state, scale=None):
    width = encoder_states.shape[1]
    raw = np.array([sum(a * b for a, b in zip(state, decoder_state)) for state in encoder_states], encoder_states.dtype)
    scores = raw * float(width ** -0.5 if scale is None else scale)
    weights = _softmax(scores)
    return {"context": weights @ encoder_states, "weights": weights, "scores": scores, "raw_scores": raw}
