import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    p = base.context_begin(encoder_states, decoder_state, scale)
    with np.errstate(all="ignore"):
        raw = np.squeeze(p.states @ p.state[:, None])
        scores = raw * p.T(p.scale)
        e = np.exp(scores - scores.max(initial=-np.inf))
        weights = e / np.where(e.size, e.sum(), 1).astype(p.T)
        context = np.dot(weights, p.states)
    return base.context_end(p, context, weights, scores, raw)
