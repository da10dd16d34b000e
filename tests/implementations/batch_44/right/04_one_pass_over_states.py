"""Right: one pass over the states from the last to the first, with a running maximum and compensated sums."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    base.check_context(encoder_states, decoder_state)
    states, asking = base.wide(encoder_states), base.wide(decoder_state)
    tokens, width = states.shape
    scale = 1 / math.sqrt(width) if scale is None else float(scale)
    raw = np.zeros(tokens)
    with np.errstate(all="ignore"):
        top, total, lost = -np.inf, 0.0, 0.0
        context, rest = np.zeros(width), np.zeros(width)
        for j in range(tokens - 1, -1, -1):
            products = states[j] * asking
            raw[j] = math.fsum(products) if np.isfinite(products).all() else products.sum()
            score = raw[j] * scale
            if score > top:
                keep = math.exp(top - score) if total else 0.0
                total, lost, context, rest = total * keep, lost * keep, context * keep, rest * keep
                top = score
            part = 0.0 if score == -np.inf else np.exp(score - top)
            new = total + (part - lost)
            total, lost = new, (new - total) - (part - lost)
            step = part * states[j] - rest
            after = context + step
            context, rest = after, (after - context) - step
        scores = raw * scale
        weights = np.exp(scores - top) / total if tokens else scores
        context = context / total if tokens else context
    return base.finish(encoder_states.dtype, context=context, weights=weights, scores=scores, raw_scores=raw)
