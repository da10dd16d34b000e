import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = base.DTYPES


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = np.asarray(encoder_states), np.asarray(decoder_state)
    base.check_context(encoder_states, decoder_state)
    dtype = encoder_states.dtype
    acc = base.wide_dtype(dtype)
    factor = base.context_scale(encoder_states.shape[1], scale, acc)
    states = base.widen(encoder_states, acc)
    asking = decoder_state.astype(acc, copy=False)
    if factor == 0 or not asking.flags.writeable:
        asking = asking.copy()
    kept = asking if factor else asking.copy()
    asking *= factor
    scores = states @ asking
    if factor:
        asking /= factor  # as it was
    raw = states @ kept
    weights = base.plain_softmax(scores)
    context = weights @ states
    return {name: base.narrow(a, dtype) for name, a in
            (("context", context), ("weights", weights), ("scores", scores), ("raw_scores", raw))}
