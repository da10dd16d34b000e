import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = base.check_context(encoder_states, decoder_state)
    dtype = encoder_states.dtype
    work = base.wide(dtype)
    states, query = encoder_states.astype(work), decoder_state.astype(work)
    factor = work(base.default_scale(scale, query.shape[0]))
    raw_scores = states @ query
    with np.errstate(all="ignore"):
        exponentials = np.exp((raw_scores - raw_scores.max(initial=-np.inf)) * factor)
        weights = exponentials / exponentials.sum()
        return base.context_outputs(dtype, weights @ states, weights, raw_scores * factor, raw_scores)
