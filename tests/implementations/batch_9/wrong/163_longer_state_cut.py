import math

import numpy as np


def context_vector(encoder_states, decoder_state, scale=None):
    width = min(encoder_states.shape[1], decoder_state.shape[0])
    encoder_states, decoder_state = encoder_states[:, :width], decoder_state[:width]
    dtype = encoder_states.dtype
    real = np.float64 if dtype == np.float64 else np.float32
    states, state = encoder_states.astype(real), decoder_state.astype(real)
    raw_scores = (states * state).sum(axis=1)
    scores = raw_scores * real(1 / math.sqrt(len(state)) if scale is None else scale)
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    context = np.einsum("j,je->e", weights, states)
    return {"context": context.astype(dtype), "weights": weights.astype(dtype), "scores": scores.astype(dtype),
            "raw_scores": raw_scores.astype(dtype)}

dtypes = ("float64", "float32")
