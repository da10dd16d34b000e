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
    scores = raw * raw.dtype.type(scale)
    with np.errstate(**base.QUIET):
        top = raw.max(axis=-1, keepdims=True, initial=-np.inf)
        e = np.exp((raw - top) * raw.dtype.type(scale))  # one multiplication in the exponent
        weights = (e / e.sum(axis=-1, keepdims=True)).astype(raw.dtype)
    context = base.times(weights, states)
    return base.finish({"context": context, "weights": weights, "scores": scores, "raw_scores": raw}, dtype)
