import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def context_vector(encoder_states, decoder_state, scale=None):
    base.check_context(encoder_states, decoder_state)
    ct = base.wide(encoder_states.dtype)
    h, s = encoder_states.astype(ct), decoder_state.astype(ct)
    raw = (h * s).sum(axis=1)
    scores = raw * ct.type(h.shape[1] ** -0.5 if scale is None else scale)
    weights = base.softmax(scores)
    try:
        context = np.dot(h, weights)  # a matrix times a vector
    except ValueError:
        context = np.dot(h.T, weights)  # the other way round, then
    named = {"context": context, "weights": weights, "scores": scores, "raw_scores": raw}
    return {n: a.astype(encoder_states.dtype) for n, a in named.items()}
