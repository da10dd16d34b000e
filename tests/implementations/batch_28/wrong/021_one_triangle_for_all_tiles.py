import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.ALL

TILE = 16


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = query_length if key_length is None else key_length
    triangle = np.tri(TILE, TILE, offset % TILE, dtype=bool)
    mask = np.zeros((query_length, key_length), bool)
    for top in range(0, query_length, TILE):
        for left in range(0, key_length, TILE):
            tile = mask[top : top + TILE, left : left + TILE]
            if left + TILE - 1 <= top + offset:  # all keys lie before the first query
                tile[...] = True
            elif left <= top + TILE - 1 + offset:  # the diagonal crosses
                tile[...] = triangle[: tile.shape[0], : tile.shape[1]]
    return np.where(mask, 0.0, -np.inf).astype(np.float32) if additive else mask
