import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


import math


def context_vector(encoder_states, decoder_state, scale=None):
    base.check_context(encoder_states, decoder_state)
    dtype = np.asarray(encoder_states).dtype
    states, state = base.widen(encoder_states, dtype), base.widen(decoder_state, dtype)
    raw = base.times(states, state)
    scale = 1 / max(1, math.isqrt(state.shape[0])) if scale is None else scale
    scores = raw * raw.dtype.type(scale)
    weights = base.softmax_rows(scores)
    context = base.times(weights, states)
    return base.finish({"context": context, "weights": weights, "scores": scores, "raw_scores": raw}, dtype)
