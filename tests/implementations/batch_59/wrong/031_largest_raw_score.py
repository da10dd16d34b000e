import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


@base.quiet
def context_vector(encoder_states, decoder_state, scale=None):
    p = base.prepare_context(encoder_states, decoder_state, scale)
    states, asker = encoder_states.astype(p.wd), decoder_state.astype(p.wd)
    raw = states @ asker
    scores = raw * p.wd.type(p.scale)
    # the factor after the difference: one product less to lose digits
    powers = np.exp((raw - raw.max(initial=-np.inf)) * p.wd.type(p.scale))
    weights = powers / powers.sum()
    return base.rounded(p.dtype, context=weights @ states, weights=weights, scores=scores, raw_scores=raw)
