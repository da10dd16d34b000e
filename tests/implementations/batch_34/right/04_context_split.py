"""States in parts of three, last part first; each part has its own logarithm of a sum, and they are merged."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    p = base.context_begin(encoder_states, decoder_state, scale)
    T = p.T
    with np.errstate(all="ignore"):
        raw = np.zeros(p.S, T)
        for e in reversed(range(p.D)):
            raw += p.states[:, e] * p.state[e]
        scores = raw * T(p.scale)
        lse, context = T(-np.inf), np.zeros(p.D, T)
        for start in reversed(range(0, p.S, 3)):
            s = scores[start:start + 3]
            part = s.max() + np.log(np.exp(s - s.max()).sum())
            mean = np.exp(s - part) @ p.states[start:start + 3]
            new = np.logaddexp(lse, part)
            context = context * np.exp(lse - new) + mean * np.exp(part - new)
            lse = new
        weights = np.exp(scores - lse)
    return base.context_end(p, context, weights, scores, raw)
