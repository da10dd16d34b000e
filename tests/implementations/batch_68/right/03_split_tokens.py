import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import math

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
LOG2_E = math.log2(math.e)


def tree(terms):
    """Sums along the last axis, two by two."""
    if not terms.shape[-1]:
        return np.zeros(terms.shape[:-1], terms.dtype)
    while terms.shape[-1] > 1:
        half = (terms.shape[-1] + 1) // 2
        right = terms[..., half:]
        left = terms[..., :half].copy()
        left[..., : right.shape[-1]] += right
        terms = left
    return terms[..., 0]


def finite_or_zero(number):
    return number.dtype.type(0) if number == -np.inf else number


def part(scores, states):
    """Maximum, sum and weighted sum of some tokens, four at a time, in powers of two."""
    dtype = states.dtype
    largest, total, summed = dtype.type(-np.inf), dtype.type(0), np.zeros(states.shape[1], dtype)
    for start in range(0, len(scores), 4):
        tile, rows = scores[start : start + 4], states[start : start + 4]
        new = np.maximum(largest, tile.max())
        anchor = finite_or_zero(new)
        power = np.exp2((tile - anchor) * dtype.type(LOG2_E))
        shrink = np.exp2((largest - anchor) * dtype.type(LOG2_E))
        total = total * shrink + tree(power)
        summed = summed * shrink + tree((power[:, None] * rows).T)
        largest = new
    return largest, total, summed


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = np.asarray(encoder_states), np.asarray(decoder_state)
    base.check_context(encoder_states, decoder_state)
    dtype = base.wide(encoder_states.dtype)
    states, asking = encoder_states.astype(dtype), decoder_state.astype(dtype)
    with np.errstate(all="ignore"):
        raw = tree(states * asking)
        scores = raw * dtype.type(1 / math.sqrt(states.shape[1]) if scale is None else scale)
        parts = [part(scores[lane::3], states[lane::3]) for lane in range(min(3, len(scores)))]
        largest = np.max([one[0] for one in parts], initial=-np.inf).astype(dtype)
        anchor = finite_or_zero(largest)
        shrink = [np.exp2((one[0] - anchor) * dtype.type(LOG2_E)) for one in parts]
        total = sum((one[1] * by for one, by in zip(parts, shrink)), start=dtype.type(0))
        context = sum((one[2] * by for one, by in zip(parts, shrink)), start=np.zeros(states.shape[1], dtype))
        weights = np.exp2((scores - anchor) * dtype.type(LOG2_E)) / total
        context = context / total if len(scores) else context
        return base.context_result(encoder_states.dtype, context, weights, scores, raw)
