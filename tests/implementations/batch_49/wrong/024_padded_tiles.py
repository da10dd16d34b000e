import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = base.DTYPES

TILE = 16


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    base.check_single(x, w_query, w_key, w_value, w_output)
    dtype = x.dtype
    q, k, v = (base.project(x, matrix, None, dtype) for matrix in (w_query, w_key, w_value))
    scale = base.the_scale(scale, q.shape[1], dtype)
    tokens = x.shape[0]
    padded = -(-tokens // TILE) * TILE
    keys = np.zeros((padded, q.shape[1]), q.dtype)
    keys[:tokens] = k
    scores = np.zeros((tokens, tokens), q.dtype)
    weights = np.zeros((tokens, tokens), q.dtype)
    for i in range(0, tokens, TILE):
        rows = slice(i, i + TILE)
        with np.errstate(all="ignore"):
            logits = base.dots(q[rows], keys) * scale
        scores[rows] = logits[:, :tokens]
        if i + TILE > tokens:  # a tile that is not full
            logits[:, tokens:] = -np.inf
        weights[rows] = base.shares(logits)[:, :tokens]
    with np.errstate(all="ignore"):
        output = weights @ v
    if w_output is not None:
        output = base.project(output, w_output, None, dtype)
    return base.single_result(output, weights, scores, q, k, v, dtype)
