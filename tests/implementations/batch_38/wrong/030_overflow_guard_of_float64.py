import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = base.check_context(encoder_states, decoder_state)
    dtype = encoder_states.dtype
    work = base.wide(dtype)
    states, query = encoder_states.astype(work), decoder_state.astype(work)
    raw_scores = states @ query
    scores = raw_scores * work(base.default_scale(scale, query.shape[0]))
    shift = scores.max() if scores.size and np.abs(scores).max() > 700 else work(0)
    with np.errstate(all="ignore"):
        exponentials = np.exp(scores - shift)
        weights = exponentials / exponentials.sum()
        return base.context_outputs(dtype, weights @ states, weights, scores, raw_scores)
