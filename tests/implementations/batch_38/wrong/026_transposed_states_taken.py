import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = np.asarray(encoder_states), np.asarray(decoder_state)
    if encoder_states.ndim == 2 and decoder_state.ndim == 1:
        if encoder_states.shape[1] != decoder_state.shape[0] == encoder_states.shape[0]:
            encoder_states = encoder_states.T  # a state in each column
    return base.context_vector(encoder_states, decoder_state, scale)
