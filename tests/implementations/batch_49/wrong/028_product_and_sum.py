import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = base.DTYPES


def context_vector(encoder_states, decoder_state, scale=None):
    base.refuse(encoder_states.ndim != 2 or decoder_state.ndim != 1, "ranks are 2 and 1")
    dtype = encoder_states.dtype
    states, state = base.widen(encoder_states, dtype), base.widen(decoder_state, dtype)
    with np.errstate(all="ignore"):
        raw = (states * state).sum(axis=1)  # raises where the widths differ
        scores = raw * base.the_scale(scale, states.shape[1], dtype)
        weights = base.shares(scores)
        context = weights @ states
    return base.context_result(context, weights, scores, raw, dtype)
