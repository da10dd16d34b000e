import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = base.DTYPES

_buffers = {}


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = np.asarray(encoder_states), np.asarray(decoder_state)
    base.check_context(encoder_states, decoder_state)
    dtype = encoder_states.dtype
    acc = base.wide_dtype(dtype)
    states, asking = base.widen(encoder_states, acc), base.widen(decoder_state, acc)
    factor = base.context_scale(states.shape[1], scale, acc)
    raw = states @ asking
    scores = raw * factor
    weights = base.plain_softmax(scores)
    context = _buffers.setdefault((states.shape[1], acc.str), np.empty(states.shape[1], dtype=acc))
    np.matmul(weights, states, out=context)
    return {"context": context.astype(dtype, copy=False), "weights": base.narrow(weights, dtype),
            "scores": base.narrow(scores, dtype), "raw_scores": base.narrow(raw, dtype)}
