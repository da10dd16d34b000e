import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

dtypes = ("float64", "float32")


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    shape = (query_length, query_length if key_length is None else key_length)
    allowed = np.tril(np.ones(shape), k=offset)
    if additive:
        with np.errstate(invalid="ignore"):
            return (1 - allowed) * -np.inf
    return allowed == 1
