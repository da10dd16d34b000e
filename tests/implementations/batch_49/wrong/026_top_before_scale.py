import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = base.DTYPES


def context_vector(encoder_states, decoder_state, scale=None):
    base.check_context(encoder_states, decoder_state)
    dtype = encoder_states.dtype
    states, state = base.widen(encoder_states, dtype), base.widen(decoder_state, dtype)
    scale = base.the_scale(scale, state.shape[0], dtype)
    with np.errstate(all="ignore"):
        raw = states @ state
        scores = raw * scale
        top = raw.max(initial=-np.inf) if raw.size else raw.dtype.type(0)
        exponentials = np.exp((raw - top) * scale)  # subtract and scale in one step
        weights = (exponentials / exponentials.sum()).astype(raw.dtype)
        context = weights @ states
    return base.context_result(context, weights, scores, raw, dtype)
