import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = base.DTYPES


def piece(states, scores):
    """Largest score, sum and weighted sum of a few tokens, in powers of two."""
    largest = scores.max()
    shares = np.exp2(scores - largest)
    return largest, shares.sum(), (shares[:, None] * states).sum(axis=0)


def join(left, right):
    largest = max(left[0], right[0])
    a, b = np.exp2(left[0] - largest), np.exp2(right[0] - largest)
    return largest, a * left[1] + b * right[1], a * left[2] + b * right[2]


def context_vector(encoder_states, decoder_state, scale=None):
    """Tokens from the last to the first in pieces of 3, merged as a tree; logarithms to the base 2."""
    base.check_context(encoder_states, decoder_state)
    work = base.working(encoder_states, decoder_state)
    states, query = encoder_states.astype(work), decoder_state.astype(work)
    raw_scores = np.add.reduce((states * query)[:, ::-1], axis=1)
    scores = raw_scores * work.type(base.default_scale(states.shape[1], scale))
    binary = scores * work.type(1 / math.log(2))
    parts = [piece(states[i : i + 3], binary[i : i + 3]) for i in range(0, len(scores), 3)][::-1]
    while len(parts) > 1:
        parts = [join(*parts[i : i + 2]) if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), 2)]
    largest, total, context = parts[0]
    weights = np.exp2(binary - (largest + np.log2(total)))
    return base.rounded(encoder_states.dtype, context / total, weights, scores, raw_scores)
