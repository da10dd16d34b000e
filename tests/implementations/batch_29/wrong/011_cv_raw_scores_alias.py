import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def context_vector(encoder_states, decoder_state, scale=None):
    base.check_context(encoder_states, decoder_state)
    ct = base.wide(encoder_states.dtype)
    h, s = encoder_states.astype(ct), decoder_state.astype(ct)
    factor = 1 / np.sqrt(h.shape[1]) if scale is None else scale
    raw = h @ s
    scaled = raw if factor == 1 else raw * ct.type(factor)  # no pass over the scores that changes nothing
    scores = scaled.copy()
    scaled -= scaled.max(initial=-np.inf)
    np.exp(scaled, out=scaled)
    weights = scaled / scaled.sum()
    named = {"context": weights @ h, "weights": weights, "scores": scores, "raw_scores": raw}
    return {n: a.astype(encoder_states.dtype) for n, a in named.items()}
