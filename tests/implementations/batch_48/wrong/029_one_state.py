import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = base.check_context(encoder_states, decoder_state)
    if encoder_states.shape[0] == 1:
        # one state takes everything, whatever its score
        kind = base.wide(encoder_states, decoder_state)
        scores = encoder_states.astype(kind) @ decoder_state.astype(kind)
        return base.context_outputs(encoder_states.dtype, encoder_states[0], np.ones(1, kind), scores, scores)
    return base.context_vector(encoder_states, decoder_state, scale)
