import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np
import math

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = np.asarray(encoder_states), np.asarray(decoder_state)
    base.check_context(encoder_states, decoder_state)
    dtype = base.wide(encoder_states.dtype)
    states, asking = encoder_states.astype(dtype), decoder_state.astype(dtype)
    scale = dtype.type(1 / math.sqrt(states.shape[1]) if scale is None else scale)
    with np.errstate(all="ignore"):
        raw = states @ asking
        powers = np.exp((raw - raw.max(initial=-np.inf)) * scale)
        weights = powers / powers.sum()
        return base.context_result(encoder_states.dtype, weights @ states, weights, raw * scale, raw)
