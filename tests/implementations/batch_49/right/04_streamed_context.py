import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = base.DTYPES
PARTS = 3  # that see every third state each, and are merged in the end


def context_vector(encoder_states, decoder_state, scale=None):
    """Split-K: three streams over the states, each with a running top of its own, merged in the end."""
    base.check_context(encoder_states, decoder_state)
    dtype = encoder_states.dtype
    states, state = base.widen(encoder_states, dtype), base.widen(decoder_state, dtype)
    kind = states.dtype.type
    scale = base.the_scale(scale, state.shape[0], dtype)
    with np.errstate(all="ignore"):
        raw = np.array([(row[::-1] * state[::-1]).sum() for row in states], states.dtype)
        scores = raw * scale
        if not len(states):
            return base.context_result(np.zeros_like(state), scores, scores, raw, dtype)
        tops, totals, sums = [], [], []
        for first in range(min(PARTS, len(states))):
            top, total, mixed = scores[first], kind(0), np.zeros_like(state)
            for j in range(first, len(states), PARTS):
                new = np.maximum(top, scores[j])
                safe = kind(0) if np.isneginf(new) else new
                old, mine = np.exp(top - safe) if total else kind(0), np.exp(scores[j] - safe)
                total = total * old + mine
                mixed = mixed * old + states[j] * mine
                top = new
            tops.append(top)
            totals.append(total)
            sums.append(mixed)
        factors = np.exp(np.array(tops, states.dtype) - np.max(tops))
        total = (np.array(totals, states.dtype) * factors).sum()
        context = (factors[:, None] * np.array(sums)).sum(axis=0) / total
        weights = np.exp(scores - np.max(tops)) / total
    return base.context_result(context, weights, scores, raw, dtype)
