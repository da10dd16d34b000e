import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = base.check_context(encoder_states, decoder_state)
    states, asking = base.wide(encoder_states), base.wide(decoder_state)
    factor = base.default_scale(scale, states.shape[1])
    with np.errstate(all="ignore"):
        raw = states @ asking
        shifted = (raw - raw.max(initial=-np.inf)) * factor
        carried = np.float64 if encoder_states.dtype == np.float64 else np.float32
        exponentials = np.exp(shifted.astype(carried))
        weights = (exponentials / exponentials.sum()).astype(np.float64)
        context = weights @ states
    return base.context_outputs(encoder_states.dtype, context=context, weights=weights, scores=raw * factor, raw_scores=raw)
