import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.FOUR


def context_vector(encoder_states, decoder_state, scale=None):
    states, asks = base.up(encoder_states), base.up(decoder_state)
    with base.quiet():
        raw = (states * asks).sum(axis=1)  # NumPy refuses what does not fit
        scores = raw * (states.shape[1] ** -0.5 if scale is None else scale)
        weights = np.exp(scores - scores.max(initial=-np.inf))
        weights /= weights.sum()
        context = (states * weights[:, None]).sum(axis=0)
    got = {"context": context, "weights": weights, "scores": scores, "raw_scores": raw}
    return {name: base.down(a, encoder_states.dtype) for name, a in got.items()}
