import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import math

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    """One pass in blocks of five, from the last to the first, powers of two, features summed pairwise."""
    encoder_states, decoder_state = np.asarray(encoder_states), np.asarray(decoder_state)
    base.check_context(encoder_states, decoder_state)
    dtype = encoder_states.dtype
    wide = base.work(dtype)
    states, asking = encoder_states.astype(wide), decoder_state.astype(wide)
    scale = wide(1 / math.sqrt(states.shape[1]) if scale is None else scale)
    raw = _tree(states * asking)
    scores = raw * scale
    two = scores * wide(math.log2(math.e))
    if not len(states):
        return base.context_outputs(np.zeros(states.shape[1], dtype=wide), scores, scores, raw, dtype)
    largest, total, context = wide(-np.inf), wide(0), np.zeros(states.shape[1], dtype=wide)
    starts = range(0, len(states), 5)
    with np.errstate(all="ignore"):
        for start in reversed(starts):
            block = two[start : start + 5]
            higher = max(largest, block.max())
            shares = np.exp2(block - higher)
            keep = np.exp2(largest - higher)
            total = total * keep + shares.sum()
            context = context * keep + shares @ states[start : start + 5]
            largest = higher
        return base.context_outputs(context / total, np.exp2(two - largest) / total, scores, raw, dtype)


def _tree(terms):
    while terms.shape[1] > 1:
        odd = terms[:, -1:] if terms.shape[1] % 2 else terms[:, :0]
        terms = np.concatenate([terms[:, :-1:2] + terms[:, 1::2], odd], axis=1)
    return terms.sum(axis=1)
