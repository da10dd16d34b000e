import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


@base.quiet
def context_vector(encoder_states, decoder_state, scale=None):
    base.refuse(encoder_states.ndim != 2 or decoder_state.ndim != 1, "states of other ranks")
    wd = base.work(encoder_states.dtype)
    states, asker = encoder_states.astype(wd), decoder_state.astype(wd)
    raw = (states * asker).sum(axis=-1)  # NumPy refuses what does not fit
    scores = raw * wd.type(1 / math.sqrt(states.shape[-1]) if scale is None else scale)
    weights = base.shares_plain(scores)
    return base.rounded(encoder_states.dtype, context=weights @ states, weights=weights, scores=scores, raw_scores=raw)
