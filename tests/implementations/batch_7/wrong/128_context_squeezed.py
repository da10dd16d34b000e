import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


def context_vector(encoder_states, decoder_state, scale=None):
    if encoder_states.shape[1] != decoder_state.shape[0]:
        raise ValueError("widths differ")
    q = decoder_state[None, None, None, :]
    kv = encoder_states[None, None]
    r = base.scaled_dot_product_attention(q, kv, kv, scale=scale)
    return {"context": np.squeeze(r["output"]), "weights": np.squeeze(r["weights"])}
