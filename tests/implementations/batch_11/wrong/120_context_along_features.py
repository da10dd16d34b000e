"""Context vector, written out."""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32")


def context_vector(encoder_states, decoder_state, scale=None):
    states, state = np.asarray(encoder_states), np.asarray(decoder_state)
    base.refuse(states.ndim != 2 or state.ndim != 1 or states.shape[1] != len(state), "width")
    raw = states @ state
    scores = raw * states.dtype.type(1 / math.sqrt(len(state)) if scale is None else scale)
    weights = base.softmax(scores)
    if weights.shape == state.shape:
        context = (states * weights).sum(0)
    else:
        context = (states * weights[:, None]).sum(0)
    return {"context": context, "weights": weights}
