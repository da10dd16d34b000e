import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    h, d = base.as_array(encoder_states), base.as_array(decoder_state)
    if h.ndim != 2 or d.ndim != 1:
        raise ValueError("encoder_states must be of rank 2, decoder_state of rank 1")
    w = base.wide(h.dtype)
    hw = h.astype(w)
    raw = (hw * d.astype(w)).sum(axis=-1)
    scores = raw * base.default_scale(scale, h.shape[1])
    weights = base.shares(scores)
    return base.context_outputs(weights @ hw, weights, scores, raw, h.dtype)
