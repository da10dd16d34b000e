import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
conventions = {"accumulation": "float32"}


@base.quiet
def context_vector(encoder_states, decoder_state, scale=None):
    p = base.prepare_context(encoder_states, decoder_state, scale)
    states, asker = encoder_states.astype(p.wd), decoder_state.astype(p.wd)
    states, asker = states.astype(np.float32), asker.astype(np.float32)
    raw = np.zeros(p.S, np.float32)
    for e in reversed(range(p.D)):
        raw += states[:, e] * asker[e]
    scores = raw * np.float32(p.scale)
    top, total, context = np.float32(-np.inf), np.float32(0), np.zeros(p.D, np.float32)
    for j in range(p.S):
        higher = np.maximum(top, scores[j])
        shrink, power = np.exp(top - higher), np.exp(scores[j] - higher)
        total = total * shrink + power
        context = context * shrink + power * states[j]
        top = higher
    weights = np.exp(scores - top) / total
    context = context / total if p.S else context
    return base.rounded(p.dtype, context=context, weights=weights, scores=scores, raw_scores=raw)
