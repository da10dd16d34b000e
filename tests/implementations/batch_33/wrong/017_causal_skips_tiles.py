import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = base.DTYPES


TILE = 64


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    keys = query_length if key_length is None else key_length
    if query_length <= TILE and keys <= TILE:
        return base.causal_mask(query_length, keys, offset, additive)
    mask = np.zeros((query_length, keys), dtype=bool)
    for row in range(0, query_length, TILE):
        for column in range(0, keys, TILE):
            if column > row + offset:
                continue  # nothing to see
            i = np.arange(row, min(row + TILE, query_length))[:, None]
            j = np.arange(column, min(column + TILE, keys))[None, :]
            mask[row : row + TILE, column : column + TILE] = j <= i + offset
    return {"output": base.numbers(mask) if additive else mask}
