import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

from types import SimpleNamespace


def context_vector(encoder_states, decoder_state, scale=None):
    base.refuse(np.ndim(encoder_states) != 2 or np.ndim(decoder_state) != 1, "states of a wrong rank")
    p = SimpleNamespace(D=encoder_states.shape[1], T=base.work_type(encoder_states.dtype), dtype=encoder_states.dtype)
    p.states, p.state = base.wide(encoder_states, p.T), base.wide(decoder_state, p.T)
    p.scale = float(scale) if scale is not None else (1.0 / np.sqrt(p.D) if p.D else 1.0)
    with np.errstate(all="ignore"):
        raw = (p.states * p.state).sum(axis=-1)  # raises where the widths differ
        scores = raw * p.T(p.scale)
        weights = base.shares(scores)
        context = weights @ p.states
    return base.context_end(p, context, weights, scores, raw)
