import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = base.DTYPES


def context_vector(encoder_states, decoder_state, scale=None):
    base.check_context(encoder_states, decoder_state)
    work = base.working(encoder_states, decoder_state)
    states, query = encoder_states.astype(work), decoder_state.astype(work)
    factor = work.type(base.default_scale(states.shape[1], scale))
    scores = states @ (query * factor)
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    with np.errstate(all="ignore"):
        raw_scores = scores / factor
    return base.rounded(encoder_states.dtype, weights @ states, weights, scores, raw_scores)
