import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = np.asarray(encoder_states), np.asarray(decoder_state)
    if encoder_states.ndim != 2 or decoder_state.ndim != 1:
        raise ValueError("encoder_states must be of rank 2 and decoder_state of rank 1")
    states, asking = base.wide(encoder_states), base.wide(decoder_state)
    with np.errstate(all="ignore"):
        raw = (states * asking).sum(axis=1)
        scores = raw * base.default_scale(scale, states.shape[1])
        weights = base.softmax(scores)
        context = weights @ states
    return base.context_outputs(encoder_states.dtype, context=context, weights=weights, scores=scores, raw_scores=raw)
