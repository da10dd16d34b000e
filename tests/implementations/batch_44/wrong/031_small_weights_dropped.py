import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    base.check_context(encoder_states, decoder_state)
    states, asking = base.wide(encoder_states), base.wide(decoder_state)
    raw = base.product(states, asking)
    scale = base.default_scale(states.shape[1]) if scale is None else float(scale)
    scores = raw * scale
    with np.errstate(all="ignore"):
        parts = np.exp(scores - scores.max(initial=-np.inf))
        parts[scores < scores.max(initial=-np.inf) - 16] = 0
        weights = parts / parts.sum()
    context = base.product(weights, states)
    return base.finish(encoder_states.dtype, context=context, weights=weights, scores=scores, raw_scores=raw)
