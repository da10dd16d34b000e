import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


@base.quiet
def context_vector(encoder_states, decoder_state, scale=None):
    p = base.prepare_context(encoder_states, decoder_state, scale)
    states, asker = encoder_states.astype(p.wd), decoder_state.astype(p.wd)
    factor = p.wd.type(p.scale)
    scores = states @ (asker * factor)
    weights = base.shares_plain(scores)
    raw = scores / factor
    return base.rounded(p.dtype, context=weights @ states, weights=weights, scores=scores, raw_scores=raw)
