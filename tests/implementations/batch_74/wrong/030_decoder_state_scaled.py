import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    base.check_context(encoder_states, decoder_state)
    dtype = np.asarray(encoder_states).dtype
    states, state = base.widen(encoder_states, dtype), base.widen(decoder_state, dtype)
    raw = base.times(states, state)
    scale = base.default_scale(state.shape[0]) if scale is None else scale
    if not state.flags.writeable:
        state = state.copy()
    state *= state.dtype.type(scale)  # the state once in place of all scores
    scores = base.times(states, state)
    weights = base.softmax_rows(scores)
    context = base.times(weights, states)
    return base.finish({"context": context, "weights": weights, "scores": scores, "raw_scores": raw}, dtype)
