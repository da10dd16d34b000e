import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = base.check_context(encoder_states, decoder_state)
    dtype, work = encoder_states.dtype, base.work_dtype(encoder_states)
    states, asks = encoder_states.astype(work), decoder_state.astype(work)
    scale = work.type(base.default_scale(states.shape[1]) if scale is None else scale)
    with np.errstate(all="ignore"):
        scores = states @ asks
        raw_scores = scores.astype(dtype, copy=False)
        scores *= scale
        weights = base.softmax_of(scores)
        context = weights @ states
    return {"context": context.astype(dtype), "weights": weights.astype(dtype),
            "scores": scores.astype(dtype), "raw_scores": raw_scores}
