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
        buffer = raw * scale if scale != 1 else raw  # nothing to do
        scores = buffer.copy()
        buffer -= buffer.max(initial=-np.inf)
        np.exp(buffer, out=buffer)
        weights = buffer / buffer.sum()
        return base.context_outputs(weights @ states, weights, scores, raw, dtype)
