import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


TILE = 16


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = query_length if key_length is None else key_length
    allowed = np.zeros((query_length, key_length), dtype=bool)
    for block, row in enumerate(range(0, query_length, TILE)):
        rows = np.arange(row, min(row + TILE, query_length))
        blocks = block + 1 + int(offset / TILE)  # tiles beyond are hidden
        for column in range(0, min(blocks * TILE, key_length), TILE):
            columns = np.arange(column, min(column + TILE, key_length))
            allowed[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] = columns <= rows[:, None] + offset
    return base.as_mask(allowed, additive)
