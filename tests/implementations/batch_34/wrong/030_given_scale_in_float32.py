import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    p = base.context_begin(encoder_states, decoder_state, scale)
    factor = p.scale if scale is None else np.float32(scale)
    with np.errstate(all="ignore"):
        raw = p.states @ p.state
        scores = raw * p.T(factor)
        weights = base.shares(scores)
        context = weights @ p.states
    return base.context_end(p, context, weights, scores, raw)
