import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = base.check_context(encoder_states, decoder_state)
    kind = base.wide(encoder_states, decoder_state)
    states, query = encoder_states.astype(kind), decoder_state.astype(kind)
    raw = states @ query
    factor = kind(base.default_scale(scale, states.shape[1]))
    if not raw.size:
        return base.context_vector(encoder_states, decoder_state, scale)
    with np.errstate(all="ignore"):
        weights = np.exp(factor * (raw - raw.max()))
        weights = weights / weights.sum()
        context = weights @ states
    return base.context_outputs(encoder_states.dtype, context, weights, raw * factor, raw)
