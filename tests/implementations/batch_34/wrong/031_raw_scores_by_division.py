import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    p = base.context_begin(encoder_states, decoder_state, scale)
    with np.errstate(all="ignore"):
        scores = p.states @ (p.state * p.T(p.scale))
        weights = base.shares(scores)
        context = weights @ p.states
        raw = scores / p.T(p.scale)
    return base.context_end(p, context, weights, scores, raw)
