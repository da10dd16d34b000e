import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


TILE = 16


def context_vector(encoder_states, decoder_state, scale=None):
    h, d = base.as_array(encoder_states), base.as_array(decoder_state)
    base.check_context(h, d)
    w = base.wide(h.dtype)
    hw = h.astype(w)
    raw = hw @ d.astype(w)
    scores = raw * base.default_scale(scale, h.shape[1])
    if not len(scores):
        return base.context_vector(h, d, scale)
    full = len(scores) // TILE * TILE
    top, total, sums = -np.inf, 0.0, np.zeros(h.shape[1], dtype=w)
    for start in range(0, full, TILE):
        tile = slice(start, start + TILE)
        new = max(top, scores[tile].max())
        e, old = np.exp(scores[tile] - new), np.exp(top - new)
        top, total, sums = new, total * old + e.sum(), sums * old + e @ hw[tile]
    if full < len(scores):
        top = max(top, scores[full:].max())
        e = np.exp(scores[full:] - top)
        total, sums = total + e.sum(), sums + e @ hw[full:]
    weights = np.exp(scores - top) / total
    return base.context_outputs(sums / total, weights, scores, raw, h.dtype)
