"""Context vector: every fourth token in a part of its own, online softmax of base 2 in each, and a tree that joins them."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def part(states, scores, carried):
    largest, total, summed = carried(-np.inf), carried(0), np.zeros(states.shape[1], dtype=carried)
    for start in range(0, len(states), 5):
        tile, logits = states[start : start + 5], scores[start : start + 5]
        raised = np.maximum(largest, logits.max())
        shift = carried(0) if raised == -np.inf else raised
        exponentials, fade = np.exp2(logits - shift), np.exp2(largest - shift)
        total, summed, largest = total * fade + exponentials.sum(), summed * fade + exponentials @ tile, raised
    return largest, total, summed


def join(one, other, carried):
    raised = np.maximum(one[0], other[0])
    shift = carried(0) if raised == -np.inf else raised
    p, q = np.exp2(one[0] - shift), np.exp2(other[0] - shift)
    return raised, one[1] * p + other[1] * q, one[2] * p + other[2] * q


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = base.check_context(encoder_states, decoder_state)
    dtype = encoder_states.dtype
    carried = np.float64 if dtype == np.float64 else np.float32
    states, asking = encoder_states.astype(carried), decoder_state.astype(carried)
    factor = base.default_scale(scale, states.shape[1])
    with np.errstate(all="ignore"):
        raw = np.zeros(len(states), dtype=carried)
        for e in range(states.shape[1]):  # feature by feature
            raw = raw + states[:, e] * asking[e]
        scores = raw * carried(factor)
        logits = scores * carried(np.log2(np.e))
        parts = [part(states[k::4], logits[k::4], carried) for k in range(4)]
        largest, total, summed = join(join(parts[0], parts[1], carried), join(parts[2], parts[3], carried), carried)
        weights = np.exp2(logits - largest) / total
        context = summed / total if len(states) else summed
    return base.context_outputs(dtype, context=context, weights=weights, scores=scores, raw_scores=raw)
