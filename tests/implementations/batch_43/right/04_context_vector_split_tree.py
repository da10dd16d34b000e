import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def _joined(one, other):
    """Two parts (largest exponent, sum, weighted sum) made into one, in powers of two."""
    top = max(one[0], other[0])
    a, b = np.exp2(one[0] - top), np.exp2(other[0] - top)
    return top, a * one[1] + b * other[1], a * one[2] + b * other[2]


def context_vector(encoder_states, decoder_state, scale=None):
    """Each state is a part of its own; parts are joined pairwise, as a tree, with logarithms to the base 2."""
    h, d = base.as_array(encoder_states), base.as_array(decoder_state)
    base.check_context(h, d)
    if not len(h):
        return base.context_vector(h, d, scale)
    w = np.promote_types(h.dtype, np.float32)
    hw = h.astype(w)
    terms = hw * d.astype(w)
    while terms.shape[1] > 1:  # split-K, pairwise
        if terms.shape[1] % 2:
            terms = np.concatenate([terms, np.zeros_like(terms[:, :1])], axis=1)
        terms = terms[:, 0::2] + terms[:, 1::2]
    raw = terms.sum(axis=1)
    scores = raw * w.type(base.default_scale(scale, h.shape[1]))
    exponents = scores.astype(np.float64) * np.log2(np.e)
    parts = [(x, 1.0, row.astype(np.float64)) for x, row in zip(exponents, hw)][::-1]
    while len(parts) > 1:
        rest = parts[len(parts) // 2 * 2 :]
        parts = [_joined(parts[k], parts[k + 1]) for k in range(0, len(parts) - 1, 2)] + rest
    top, total, sums = parts[0]
    return base.context_outputs(sums / total, np.exp2(exponents - top) / total, scores, raw, h.dtype)
