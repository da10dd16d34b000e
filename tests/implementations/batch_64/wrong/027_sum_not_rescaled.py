import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    c = base.prepare_context(encoder_states, decoder_state, scale)
    with np.errstate(all="ignore"):
        raw = c.states @ c.asks
        scores = raw * c.scale
        top, total, mixed = -np.inf, c.wide.type(0), np.zeros(c.D, c.wide)
        for start in range(0, c.S, 32):
            part = scores[start:start + 32]
            higher = max(top, part.max())
            powers = np.exp(part - higher)
            mixed = mixed * np.exp(top - higher) + powers @ c.states[start:start + 32]
            total = total + powers.sum()
            top = higher
        total = total if c.S else c.wide.type(1)
        return base.finish_context(c, mixed / total, np.exp(scores - top) / total, scores, raw)
