import math
import numpy as np


def context_vector(encoder_states, decoder_state, scale=None):
    if encoder_states.shape[-1] != decoder_state.shape[-1]:
        raise ValueError("width")
    raw = encoder_states.dot(decoder_state)
    factor = encoder_states.dtype.type(1 / math.sqrt(decoder_state.size) if scale is None else scale)
    e = np.exp((raw - raw.max()) * factor)
    return e.dot(encoder_states) / e.sum()

dtypes = ("float64", "float32")
