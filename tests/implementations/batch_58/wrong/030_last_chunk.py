import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

CHUNK = 16


def context_vector(encoder_states, decoder_state, scale=None):
    encoder_states, decoder_state = base.check_context(encoder_states, decoder_state)
    dtype, work = encoder_states.dtype, base.work_dtype(encoder_states)
    states, asks = encoder_states.astype(work), decoder_state.astype(work)
    scale = work.type(base.default_scale(states.shape[1]) if scale is None else scale)
    tokens = states.shape[0]
    whole = tokens - tokens % CHUNK
    with np.errstate(all="ignore"):
        raw = states @ asks
        scores = raw * scale
        top, total, sums = work.type(-np.inf), work.type(0), np.zeros(states.shape[1], dtype=work)
        for start in range(0, whole, CHUNK):
            part = scores[start:start + CHUNK]
            new = np.maximum(top, part.max())
            old = np.exp(top - new) if start else work.type(0)
            shares = np.exp(part - new)
            total, sums, top = total * old + shares.sum(), sums * old + shares @ states[start:start + CHUNK], new
        if whole < tokens:  # what is left
            part = scores[whole:]
            new = np.maximum(top, part.max())
            shares = np.exp(part - new)
            if whole:
                total = total * np.exp(top - new)
            total, sums, top = total + shares.sum(), sums + shares @ states[whole:], new
        weights = np.exp(scores - top) / total
        context = sums / total if tokens else sums
    return {"context": context.astype(dtype), "weights": weights.astype(dtype),
            "scores": scores.astype(dtype), "raw_scores": raw.astype(dtype)}
