import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = base.DTYPES


CHUNK = 16


def context_vector(encoder_states, decoder_state, scale=None):
    base.check_context(encoder_states, decoder_state)
    work = base.working(encoder_states, decoder_state)
    states, query = encoder_states.astype(work), decoder_state.astype(work)
    raw_scores = states @ query
    scores = raw_scores * work.type(base.default_scale(states.shape[1], scale))
    weights = np.empty_like(scores)
    largest, total, context = work.type(-np.inf), work.type(0), np.zeros(states.shape[1], dtype=work)
    for start in range(0, len(scores), CHUNK):
        chunk = slice(start, start + CHUNK)
        risen = max(largest, scores[chunk].max())
        shrink = np.exp(largest - risen)
        weights[chunk] = np.exp(scores[chunk] - risen)
        total = total * shrink + weights[chunk].sum()
        context = context * shrink + weights[chunk] @ states[chunk]
        largest = risen
    with np.errstate(all="ignore"):
        return base.rounded(encoder_states.dtype, context / total, weights / total, scores, raw_scores)
