import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = base.DTYPES


def widened(array):
    if array.dtype.itemsize == 2:  # half precision
        with np.errstate(all="ignore"):
            return array.astype(np.float16).astype(np.float32)
    return np.array(array)


def context_vector(encoder_states, decoder_state, scale=None):
    base.check_context(encoder_states, decoder_state)
    dtype = encoder_states.dtype
    states, state = widened(encoder_states), widened(decoder_state)
    with np.errstate(all="ignore"):
        raw = states @ state
        scores = raw * base.the_scale(scale, state.shape[0], dtype)
        weights = base.shares(scores)
        context = weights @ states
    return base.context_result(context, weights, scores, raw, dtype)
