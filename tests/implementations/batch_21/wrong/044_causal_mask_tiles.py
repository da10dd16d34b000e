import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

TILE = 16


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    """Tile by tile: those below the diagonal are full, those above it empty, those on it are compared."""
    key_length = query_length if key_length is None else key_length
    mask = np.zeros((query_length, key_length), dtype=bool)
    for i in range(0, query_length, TILE):
        for j in range(0, key_length, TILE):
            tile = mask[i:i + TILE, j:j + TILE]
            if j > i + offset:
                continue
            if j + TILE - 1 <= i + offset:
                tile[...] = True
                continue
            for r in range(tile.shape[0]):
                for c in range(tile.shape[1]):
                    tile[r, c] = j + c <= i + r + offset
    if not additive:
        return mask
    numbers = np.zeros(mask.shape)
    numbers[~mask] = -np.inf
    return numbers
