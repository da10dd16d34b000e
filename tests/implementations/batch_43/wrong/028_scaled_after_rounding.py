import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    h, d = base.as_array(encoder_states), base.as_array(decoder_state)
    base.check_context(h, d)
    w = base.wide(h.dtype)
    hw = h.astype(w)
    raw = base.rounded(hw @ d.astype(w), h.dtype)
    with np.errstate(all="ignore"):
        scores = raw.astype(w) * base.default_scale(scale, h.shape[1])
        weights = base.shares(scores)
        context = weights @ hw
    return base.context_outputs(context, weights, scores, raw, h.dtype)
