import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import refuse

dtypes = ("float64", "float32")



def context_vector(encoder_states, decoder_state, scale=None):
    refuse(encoder_states.ndim != 2 or decoder_state.shape != encoder_states.shape[1:], "width")
    raw = (encoder_states * decoder_state).sum(axis=1)
    scores = raw * (len(decoder_state) ** -0.5 if scale is None else float(scale))
    e = np.exp(scores - scores.max(initial=-np.inf))
    weights = e / e.sum()
    try:
        context = (encoder_states * weights).sum(axis=0)
    except ValueError:
        context = (encoder_states * weights[:, None]).sum(axis=0)
    return {"context": context, "weights": weights, "scores": scores, "raw_scores": raw}
