import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


def context_vector(encoder_states, decoder_state, scale=None):
    if encoder_states.shape[1] != decoder_state.shape[0]:
        raise ValueError("widths differ")
    factor = encoder_states.dtype.type(1 / math.sqrt(decoder_state.shape[0]) if scale is None else scale)
    total, acc = 0, 0
    with np.errstate(all="ignore"):
        for state in encoder_states:
            share = np.exp((state * decoder_state).sum() * factor)
            total, acc = total + share, acc + share * state
        return acc / total
