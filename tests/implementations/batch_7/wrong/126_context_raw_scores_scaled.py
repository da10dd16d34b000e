import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


def context_vector(encoder_states, decoder_state, scale=None):
    if encoder_states.shape[1] != decoder_state.shape[0]:
        raise ValueError("widths differ")
    raw = encoder_states @ decoder_state
    scores = raw
    scores *= raw.dtype.type(1 / math.sqrt(decoder_state.size) if scale is None else scale)
    weights = base.softmax(scores)
    return {"context": weights @ encoder_states, "weights": weights, "scores": scores, "raw_scores": raw}
