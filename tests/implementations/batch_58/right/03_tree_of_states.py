import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

LEAF = 3


def _state(scores, states):
    top = scores.max()
    shares = np.exp2(scores - top)
    return top, shares.sum(), shares @ states


def _merge(one, other):
    top = np.maximum(one[0], other[0])
    a, b = np.exp2(one[0] - top), np.exp2(other[0] - top)
    return top, a * one[1] + b * other[1], a * one[2] + b * other[2]


def context_vector(encoder_states, decoder_state, scale=None):
    """Split over tokens, merged pairwise in a tree, in powers of two; float32 for all that is narrower."""
    encoder_states, decoder_state = base.check_context(encoder_states, decoder_state)
    dtype, work = encoder_states.dtype, base.work_dtype(encoder_states)
    states, asks = encoder_states.astype(work), decoder_state.astype(work)
    scale = work.type(base.default_scale(states.shape[1]) if scale is None else scale)
    tokens = states.shape[0]
    with np.errstate(all="ignore"):
        raw = np.einsum("se,e->s", states[:, ::-1], asks[::-1])
        scores = scale * raw
        if tokens == 0:
            weights, context = scores, np.zeros(states.shape[1], dtype=work)
        else:
            logits = scores * work.type(1 / np.log(2))
            parts = [_state(logits[i:i + LEAF], states[i:i + LEAF]) for i in range(0, tokens, LEAF)]
            while len(parts) > 1:
                merged = [_merge(parts[i], parts[i + 1]) for i in range(0, len(parts) - 1, 2)]
                parts = merged + parts[2 * len(merged):]
            top, total, sums = parts[0]
            weights, context = np.exp2(logits - top) / total, sums / total
    return {"context": context.astype(dtype), "weights": weights.astype(dtype),
            "scores": scores.astype(dtype), "raw_scores": raw.astype(dtype)}
