import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    h, d = base.as_array(encoder_states), base.as_array(decoder_state)
    base.check_context(h, d)
    w = base.wide(h.dtype)
    scale = base.default_scale(scale, h.shape[1])
    hw = h.astype(w)
    scores = hw @ (d.astype(w) * scale)
    weights = base.shares(scores)
    raw = scores / scale if scale else scores
    return base.context_outputs(weights @ hw, weights, scores, raw, h.dtype)
