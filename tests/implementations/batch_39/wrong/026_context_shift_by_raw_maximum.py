import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = base.DTYPES


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = np.asarray(encoder_states), np.asarray(decoder_state)
    base.check_context(encoder_states, decoder_state)
    dtype = encoder_states.dtype
    acc = base.wide_dtype(dtype)
    states, asking = base.widen(encoder_states, acc), base.widen(decoder_state, acc)
    factor = base.context_scale(states.shape[1], scale, acc)
    raw = states @ asking
    scores = raw * factor
    with np.errstate(all="ignore"):
        weights = np.exp(scores - factor * raw.max(initial=-np.inf))
        weights = weights / weights.sum()
        context = weights @ states
    return {name: base.narrow(a, dtype) for name, a in
            (("context", context), ("weights", weights), ("scores", scores), ("raw_scores", raw))}
