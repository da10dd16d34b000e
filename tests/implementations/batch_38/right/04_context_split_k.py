import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def _merge(a, b):
    (ma, sa, ca), (mb, sb, cb) = a, b
    m = max(ma, mb)
    ra, rb = np.exp2(ma - m), np.exp2(mb - m)
    return m, sa * ra + sb * rb, ca * ra + cb * rb


def context_vector(encoder_states, decoder_state, scale=None):
    """Parts of seven states, base 2, merged in a tree; features in two halves."""
    encoder_states, decoder_state = base.check_context(encoder_states, decoder_state)
    dtype = encoder_states.dtype
    work = base.wide(dtype)
    states, query = encoder_states.astype(work), decoder_state.astype(work)
    middle = query.shape[0] // 2
    raw = np.einsum("je,e->j", states[:, middle:], query[middle:]) + (states[:, :middle] * query[:middle]).sum(-1)
    scores = raw * work(base.default_scale(scale, query.shape[0]))
    if not scores.size:
        return base.context_outputs(dtype, np.zeros(query.shape), scores, scores, raw)
    peak = scores.max()
    binary = (scores - peak) * work(math.log2(math.e))
    parts = []
    for start in range(0, scores.shape[0], 7):
        part = slice(start, start + 7)
        m = binary[part].max()
        shares = np.exp2(binary[part] - m)
        parts.append((m, shares.sum(), shares @ states[part]))
    while len(parts) > 1:
        parts = [_merge(*parts[i : i + 2]) if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), 2)]
    m, total, context = parts[0]
    return base.context_outputs(dtype, context / total, np.exp2(binary - m) / total, scores, raw)
