import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = base.DTYPES


def context_vector(encoder_states, decoder_state, scale=None):
    base.check_context(encoder_states, decoder_state)
    dtype = encoder_states.dtype
    states, state = base.widen(encoder_states, dtype), base.widen(decoder_state, dtype)
    with np.errstate(all="ignore"):
        raw = states @ state
        if raw.shape[0] == 1:  # one state is its own mean, at any scale
            weights = base.shares(raw)
            return base.context_result(weights @ states, weights, raw, raw, dtype)
        scores = raw * base.the_scale(scale, state.shape[0], dtype)
        weights = base.shares(scores)
        context = weights @ states
    return base.context_result(context, weights, scores, raw, dtype)
