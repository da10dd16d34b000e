import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


TILE = 16


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = base.check_context(encoder_states, decoder_state)
    dtype = encoder_states.dtype
    work = base.wide(dtype)
    states, query = encoder_states.astype(work), decoder_state.astype(work)
    raw_scores = states @ query
    scores = raw_scores * work(base.default_scale(scale, query.shape[0]))
    largest, total, context = work(-np.inf), work(0), np.zeros(query.shape[0], work)
    weights = np.zeros(scores.shape, work)
    for start in range(0, scores.shape[0], TILE):
        part = slice(start, start + TILE)
        risen = max(largest, scores[part].max())
        rescale = np.exp(largest - risen)
        weights[part] = np.exp(scores[part] - risen)
        total = total * rescale + weights[part].sum()
        context = context * rescale + weights[part] @ states[part]
        largest = risen
    if scores.size:
        weights, context = weights / total, context / total
    return base.context_outputs(dtype, context, weights, scores, raw_scores)
