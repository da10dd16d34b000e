import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import math

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = np.asarray(encoder_states), np.asarray(decoder_state)
    base.check_context(encoder_states, decoder_state)
    dtype = encoder_states.dtype
    states, asking = encoder_states.astype(base.work(dtype)), decoder_state.astype(base.work(dtype))
    scale = states.dtype.type(1 / math.sqrt(states.shape[1]) if scale is None else scale)
    with np.errstate(all="ignore"):
        raw = states @ asking
        if len(raw) == 1:  # all the weight is on the only state
            return base.context_outputs(states[0], np.ones_like(raw), raw, raw, dtype)
        scores = raw * scale
        weights = np.exp(scores - scores.max(initial=-np.inf))
        weights = weights / weights.sum()
        return base.context_outputs(weights @ states, weights, scores, raw, dtype)
