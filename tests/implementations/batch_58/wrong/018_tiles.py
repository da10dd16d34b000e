import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

TILE = 16


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    if key_length is None:
        key_length = query_length
    allowed = np.zeros((query_length, key_length), dtype=bool)
    for i in range(0, query_length, TILE):
        row = (i + offset) // TILE
        for j in range(0, key_length, TILE):
            column = j // TILE
            if column < row:  # all before
                allowed[i:i + TILE, j:j + TILE] = True
            elif column == row:  # the diagonal
                queries = np.arange(i, min(i + TILE, query_length))[:, None] + offset
                keys = np.arange(j, min(j + TILE, key_length))[None, :]
                allowed[i:i + TILE, j:j + TILE] = keys <= queries
            # all after: nothing
    return base.mask_of(allowed, additive)
