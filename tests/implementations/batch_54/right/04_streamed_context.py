"""Context vector in one pass over the tokens, last one first, with a running maximum in powers of two."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    a = base.check_context(encoder_states, decoder_state, scale)
    with np.errstate(all="ignore"):
        states, state = base.widen(encoder_states, a.work), base.widen(decoder_state, a.work)
        raw = np.array([np.sum(row * state, dtype=a.work) for row in states], a.work).reshape(a.S)
        scores = a.scale * raw
        bits = scores * a.work.type(1.4426950408889634)
        top, total, mixed = a.work.type(-np.inf), a.work.type(0), np.zeros(a.D, a.work)
        for j in reversed(range(a.S)):
            new = np.maximum(top, bits[j])
            old, share = np.exp2(top - new), np.exp2(bits[j] - new)
            total = total * old + share
            mixed = mixed * old + share * states[j]
            top = new
        weights = np.exp2(bits - top) / total
        context = mixed / total if a.S else mixed
        return base.context_results(a.dtype, context, weights, scores, raw)
