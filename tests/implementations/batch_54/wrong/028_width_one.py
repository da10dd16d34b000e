import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    if np.ndim(encoder_states) != 2 or np.ndim(decoder_state) != 1:
        raise ValueError("rank")
    asked = decoder_state
    try:
        encoder_states, decoder_state = encoder_states, np.broadcast_to(asked, encoder_states.shape[1:])
    except ValueError:
        raise ValueError("encoder states and decoder state of different numbers of features") from None
    a = base.check_context(encoder_states, decoder_state, scale)
    with base.quiet():
        states, state = base.widen(encoder_states, a.work), base.widen(decoder_state, a.work)
        raw = states @ state
        scores = raw * a.scale
        weights = base.softmax(scores)
        context = weights @ states
        return base.context_results(a.dtype, context, weights, scores, raw)
