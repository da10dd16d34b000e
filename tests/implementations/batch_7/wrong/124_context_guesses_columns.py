import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


def context_vector(encoder_states, decoder_state, scale=None):
    d = len(decoder_state)
    if d not in encoder_states.shape:
        raise ValueError("widths differ")
    states = encoder_states.T if encoder_states.shape[0] == d else encoder_states
    factor = 1 / math.sqrt(d) if scale is None else scale
    scores = [float(sum(a * b for a, b in zip(state, decoder_state))) * factor for state in states]
    top = max(scores)
    shares = [math.exp(s - top) for s in scores]
    out = np.zeros(d)
    for share, state in zip(shares, states):
        out += share / sum(shares) * state.astype(np.float64)
    return out.astype(encoder_states.dtype)
