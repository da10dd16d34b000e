import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    columns = query_length if key_length is None else key_length
    ok = np.tri(query_length, columns, k=max(offset, 0), dtype=bool)
    return np.where(ok, 0.0, -np.inf) if additive else ok
