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
        raw_scores = raw.astype(dtype, copy=False)
        raw *= base.the_scale(scale, state.shape[0], dtype)
        weights = base.shares(raw)
        context = weights @ states
    return base.context_result(context, weights, raw, raw_scores, dtype)
