import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    base.refuse(encoder_states.ndim != 2 or decoder_state.ndim != 1, "states must have rank 2 and 1")
    states, asking = base.wide(encoder_states), base.wide(decoder_state)
    with np.errstate(all="ignore"):
        raw = (states * asking).sum(axis=1)
    scale = base.default_scale(states.shape[1]) if scale is None else float(scale)
    scores = raw * scale
    weights = base.softmax(scores)
    context = base.product(weights, states)
    return base.finish(encoder_states.dtype, context=context, weights=weights, scores=scores, raw_scores=raw)
