import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    # three parts of the tokens, taken by turns, each with its own logsumexp in base 2, merged at the end
    c = base.prepare_context(encoder_states, decoder_state, scale)
    log2e = c.wide.type(1.4426950408889634)
    with np.errstate(all="ignore"):
        raw = np.zeros(c.S, c.wide)
        for e in range(c.D - 1, -1, -1):
            raw = raw + c.states[:, e] * c.asks[e]
        scores = raw * c.scale
        parts = []
        for first in range(3):
            bits = scores[first::3] * log2e
            if len(bits):
                top = bits.max()
                powers = np.exp2(bits - top)
                total = powers.sum()
                parts.append((top + np.log2(total), powers @ c.states[first::3] / total))
        if parts:
            ends = np.array([end for end, _ in parts], c.wide)
            whole = ends.max() + np.log2(np.exp2(ends - ends.max()).sum())
            context = sum(np.exp2(end - whole) * mean for end, mean in parts)
            weights = np.exp2(scores * log2e - whole)
        else:
            context, weights = np.zeros(c.D, c.wide), scores
        return base.finish_context(c, context, weights, scores, raw)
