import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def halves(scores, states):
    """Maximum, sum and weighted states (powers of two) of a pairwise tree over the tokens."""
    if len(scores) == 1:
        return scores[0], scores.dtype.type(1), states[0]
    middle = len(scores) // 2
    one, two = halves(scores[:middle], states[:middle]), halves(scores[middle:], states[middle:])
    top = max(one[0], two[0])
    left, right = np.exp2(one[0] - top), np.exp2(two[0] - top)
    return top, one[1] * left + two[1] * right, one[2] * left + two[2] * right


def context_vector(encoder_states, decoder_state, scale=None):
    """Online softmax over a tree of tokens, in base 2; weights from the logarithm of the sum."""
    states, query = np.asarray(encoder_states), np.asarray(decoder_state)
    base.check_context(states, query)
    dtype = states.dtype
    states, query = base.widen(states), base.widen(query)
    raw = np.add.reduce(states[:, ::-1] * query[::-1], axis=1)
    scores = raw * base.wide(dtype).type(base.default_scale(scale, states.shape[1]))
    binary = scores * scores.dtype.type(np.log2(np.e))
    top, total, context = halves(binary, states)
    weights = np.exp2(binary - top) / total
    return base.context_outputs(dtype, context=context / total, weights=weights, scores=scores, raw_scores=raw)
