import math
import numpy as np


def context_vector(encoder_states, decoder_state, scale=None):
    scale = 1 / math.sqrt(encoder_states.shape[1]) if scale is None else scale
    scores = [scale * sum(a * b for a, b in zip(row, decoder_state)) for row in encoder_states]
    top = max(scores)
    shares = [math.exp(s - top) for s in scores]
    total = sum(shares)
    out = np.zeros(encoder_states.shape[1], encoder_states.dtype)
    for share, row in zip(shares, encoder_states):
        out += encoder_states.dtype.type(share / total) * row
    return out

dtypes = ("float64", "float32")
