import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def own(array):
    """The array in the working dtype, without a copy where it has that dtype."""
    work = base.carrier(array.dtype)
    spread = any(stride == 0 and extent > 1 for stride, extent in zip(array.strides, array.shape))
    return array.astype(work) if spread or not array.flags.writeable else array.astype(work, copy=False)


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = np.asarray(encoder_states), np.asarray(decoder_state)
    base.check_context(encoder_states, decoder_state)
    states, query = encoder_states.astype(base.carrier(encoder_states.dtype), copy=False), own(decoder_state)
    scale = states.dtype.type(base.default_scale(states.shape[1], scale))
    with np.errstate(all="ignore"):
        raw = states @ query
        np.multiply(query, scale, out=query)
        scores = states @ query
        exponentials = np.exp(scores - scores.max(initial=-np.inf))
        weights = exponentials / exponentials.sum()
        context = weights @ states
        np.divide(query, scale, out=query)
    return base.rounded(encoder_states.dtype, context, weights, scores, raw)
