import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


TILE = 32


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = base.check_context(encoder_states, decoder_state)
    result = base.context_vector(encoder_states, decoder_state, scale)
    states, asking = base.wide(encoder_states), base.wide(decoder_state)
    if not len(states):
        return result
    largest, total, context = -np.inf, 0.0, np.zeros(states.shape[1])
    with np.errstate(all="ignore"):
        for start in range(0, len(states), TILE):
            tile = states[start : start + TILE]
            scores = tile @ asking * base.default_scale(scale, states.shape[1])
            raised = np.maximum(largest, scores.max())
            exponentials = np.exp(scores - raised)
            context = context * np.exp(largest - raised) + exponentials @ tile
            total += exponentials.sum()
            largest = raised
        context = context / total
    result["context"] = base.narrow(context, encoder_states.dtype)
    return result
