import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = base.check_context(encoder_states, decoder_state)
    dtype = encoder_states.dtype
    work = base.wide(dtype)
    factor = work(base.default_scale(scale, decoder_state.shape[0]))
    states, query = encoder_states.astype(work), decoder_state.astype(work) * factor
    scores = states @ query
    weights = base.stable_softmax(scores)
    with np.errstate(all="ignore"):
        return base.context_outputs(dtype, weights @ states, weights, scores, scores / factor)
