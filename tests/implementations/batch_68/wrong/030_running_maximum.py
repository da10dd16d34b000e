import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np
import math

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = np.asarray(encoder_states), np.asarray(decoder_state)
    base.check_context(encoder_states, decoder_state)
    dtype = base.wide(encoder_states.dtype)
    states, asking = encoder_states.astype(dtype), decoder_state.astype(dtype)
    scale = dtype.type(1 / math.sqrt(states.shape[1]) if scale is None else scale)
    with np.errstate(all="ignore"):
        raw = states @ asking
        scores = raw * scale
        largest, total, context = dtype.type(0), dtype.type(0), np.zeros(states.shape[1], dtype=dtype)
        for score, state in zip(scores, states):  # one pass over the states
            new = np.maximum(largest, score)
            shrink, power = np.exp(largest - new), np.exp(score - new)
            total = total * shrink + power
            context = context * shrink + power * state
            largest = new
        weights = np.exp(scores - largest) / total
        return base.context_result(encoder_states.dtype, context / total if len(states) else context, weights, scores, raw)
