import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


@base.quiet
def context_vector(encoder_states, decoder_state, scale=None):
    p = base.prepare_context(encoder_states, decoder_state, scale)
    states, asker = encoder_states.astype(p.wd), decoder_state.astype(p.wd)
    if p.S == 1:
        # nothing to choose from
        raw = states @ asker
        return base.rounded(p.dtype, context=states[0], weights=np.ones(1, p.wd), scores=raw, raw_scores=raw)
    raw = states @ asker
    scores = raw * p.wd.type(p.scale)
    weights = base.shares_plain(scores)
    return base.rounded(p.dtype, context=weights @ states, weights=weights, scores=scores, raw_scores=raw)
