import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


LOG2E = 1.4426950408889634


def state(scores, values):
    """Maximum in base two, sum, and weighted sum of a part, by halves."""
    if len(scores) == 1:
        return scores[0], scores.dtype.type(1), values[0]
    middle = (len(scores) + 1) // 2
    (m1, l1, o1), (m2, l2, o2) = state(scores[:middle], values[:middle]), state(scores[middle:], values[middle:])
    largest = max(m1, m2)
    a, b = np.exp2(m1 - largest), np.exp2(m2 - largest)
    return largest, a * l1 + b * l2, a * o1 + b * o2


def context_vector(encoder_states, decoder_state, scale=None):
    """A tree of partial softmaxes over every third token, in powers of two."""
    encoder_states, decoder_state = np.asarray(encoder_states), np.asarray(decoder_state)
    base.check_context(encoder_states, decoder_state)
    states, query = base.wide(encoder_states), base.wide(decoder_state)
    scale = states.dtype.type(base.default_scale(states.shape[1], scale))
    if not len(states):
        return base.context_vector(encoder_states, decoder_state, scale)
    raw = np.zeros(len(states), states.dtype)
    for e in reversed(range(states.shape[1])):
        raw = raw + states[:, e] * query[e]
    scores = raw * scale
    binary = (scores - scores[0]) * states.dtype.type(LOG2E)
    order = np.concatenate([np.arange(start, len(states), 3) for start in range(3)])
    with np.errstate(all="ignore"):
        largest, total, summed = state(binary[order], states[order])
        weights = np.exp2(binary - largest) / total
        context = summed * (1 / total)
    return base.rounded(encoder_states.dtype, context, weights, scores, raw)
