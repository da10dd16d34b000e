import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = base.check_context(encoder_states, decoder_state)
    dtype = encoder_states.dtype
    if dtype.itemsize != 2 or not len(encoder_states):
        return base.context_vector(encoder_states, decoder_state, scale)
    states, asking = base.wide(encoder_states), base.wide(decoder_state)
    with np.errstate(all="ignore"):
        raw = states @ asking
        scores = raw * base.default_scale(scale, states.shape[1])
        exponentials = np.exp(scores - scores.max())
        total = dtype.type(0)
        for exponential in base.narrow(exponentials, dtype):
            total = dtype.type(total + exponential)
        weights = exponentials / float(total)
        context = weights @ states
    return base.context_outputs(dtype, context=context, weights=weights, scores=scores, raw_scores=raw)
