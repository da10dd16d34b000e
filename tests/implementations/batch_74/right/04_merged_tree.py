import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def state_of(scores, states):
    """(largest score, sum of exponentials, weighted sum), by halving the tokens."""
    n = scores.shape[0]
    if n <= 2:
        top = scores.max()
        level = scores.dtype.type(0) if np.isneginf(top) else top
        e = np.exp(scores - level)
        return level if np.isneginf(top) else top, e.sum(), (e[:, None] * states).sum(axis=0), np.isneginf(top)
    a, b = state_of(scores[n // 2:], states[n // 2:]), state_of(scores[:n // 2], states[:n // 2])
    if a[3] or b[3]:  # one of them weighs nothing
        other = b if a[3] else a
        return other[0], other[1], a[2] * 0 + b[2] if a[3] else a[2] + b[2] * 0, other[3]
    top = np.maximum(a[0], b[0])
    f, g = np.exp(a[0] - top), np.exp(b[0] - top)
    return top, a[1] * f + b[1] * g, a[2] * f + b[2] * g, False


def context_vector(encoder_states, decoder_state, scale=None):
    """A tree of merged states over the tokens; the decoder state carries the scale; raw scores feature by feature."""
    base.check_context(encoder_states, decoder_state)
    dtype = np.asarray(encoder_states).dtype
    kind = base.inner(dtype)
    states, state = base.widen(encoder_states, dtype), base.widen(decoder_state, dtype)
    scale = kind.type(base.default_scale(state.shape[0]) if scale is None else scale)
    with np.errstate(**base.QUIET):
        raw, scores = np.zeros(states.shape[0], kind), np.zeros(states.shape[0], kind)
        for e in range(state.shape[0]):
            raw = raw + states[:, e] * state[e]
            scores = scores + states[:, e] * (state[e] * scale)
        if not scores.size:
            return base.finish({"context": np.zeros(state.shape[0]), "weights": scores, "scores": scores, "raw_scores": raw}, dtype)
        top, total, sums, _ = state_of(scores, states)
        weights = np.exp(scores - top) / total
        context = sums / total
    return base.finish({"context": context, "weights": weights, "scores": scores, "raw_scores": raw}, dtype)
