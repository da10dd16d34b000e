import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = base.check_context(encoder_states, decoder_state, width=False)
    kind = base.wide(encoder_states, decoder_state)
    states, query = encoder_states.astype(kind), decoder_state.astype(kind)
    raw = (states * query).sum(axis=-1)
    scores = raw * kind(base.default_scale(scale, states.shape[1]))
    weights = base.stable_softmax(scores)
    return base.context_outputs(encoder_states.dtype, weights @ states, weights, scores, raw)
