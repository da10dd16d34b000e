import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = np.asarray(encoder_states), np.asarray(decoder_state)
    if encoder_states.ndim != 2 or decoder_state.ndim != 1:
        raise ValueError("states of wrong rank")
    dtype, work = encoder_states.dtype, base.work_dtype(encoder_states)
    states, asks = encoder_states.astype(work), decoder_state.astype(work)
    with np.errstate(all="ignore"):
        raw = (states * asks).sum(axis=-1)  # raises where the widths do not fit
        scores = raw * work.type(base.default_scale(states.shape[1]) if scale is None else scale)
        weights = base.softmax_of(scores)
        context = weights @ states
    return {"context": context.astype(dtype), "weights": weights.astype(dtype),
            "scores": scores.astype(dtype), "raw_scores": raw.astype(dtype)}
