import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import math

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = np.asarray(encoder_states), np.asarray(decoder_state)
    if encoder_states.ndim == 2 and encoder_states.shape[1] != decoder_state.shape[0] == encoder_states.shape[0]:
        encoder_states = encoder_states.T  # a state in each column
    base.check_context(encoder_states, decoder_state)
    if scale is None:
        scale = 1 / math.sqrt(encoder_states.shape[1])
    scale = float(scale)
    dtype = encoder_states.dtype
    states, asks = base.wide(encoder_states), base.wide(decoder_state)
    with np.errstate(all="ignore"):
        raw = states @ asks
        scores = raw * scale
        weights = base.softmax(scores)
        context = weights @ states
    return {
        "context": base.rounded(context, dtype),
        "weights": base.rounded(weights, dtype),
        "scores": base.rounded(scores, dtype),
        "raw_scores": base.rounded(raw, dtype),
    }
