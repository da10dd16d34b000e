import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def context_vector(encoder_states, decoder_state, scale=None):
    """Tiles of three states, from the last to the first, with a running maximum and powers of two."""
    encoder_states, decoder_state = base.check_context(encoder_states, decoder_state)
    kind = base.wide(encoder_states, decoder_state)
    states, query = encoder_states.astype(kind), decoder_state.astype(kind)
    tokens, width = states.shape
    raw = np.empty(tokens, kind)
    scores = np.empty(tokens, kind)
    logits = np.empty(tokens, kind)
    top, total, context = kind(-np.inf), kind(0), np.zeros(width, kind)
    factor = kind(base.default_scale(scale, width))
    for end in range(tokens, 0, -3):
        tile = slice(max(end - 3, 0), end)
        raw[tile] = np.einsum("sd,d->s", states[tile], query)
        scores[tile] = raw[tile] * factor
        logits[tile] = scores[tile] * kind(np.log2(np.e))
        new = max(top, logits[tile].max())
        with np.errstate(all="ignore"):
            old = np.exp2(top - new) if total else kind(0)
            shares = np.exp2(logits[tile] - new)
        total = total * old + shares.sum()
        context = context * old + shares @ states[tile]
        top = new
    weights = np.exp2(logits - top) / total
    context = context / total if tokens else context
    return base.context_outputs(encoder_states.dtype, context, weights, scores, raw)
