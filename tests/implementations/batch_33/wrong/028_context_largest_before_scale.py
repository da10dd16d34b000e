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
    raw_scores = states @ query
    with np.errstate(all="ignore"):
        weights = np.exp(factor * (raw_scores - raw_scores.max()))
        weights /= weights.sum()
        context = weights @ states
    return base.rounded(encoder_states.dtype, context, weights, raw_scores * factor, raw_scores)
