import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

dtypes = ("float64", "float32")


_MASKS = {}


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = query_length if key_length is None else key_length
    name = (query_length, key_length, bool(additive))
    if name not in _MASKS:
        allowed = np.less_equal.outer(-np.arange(query_length) - offset, -np.arange(key_length))
        _MASKS[name] = np.where(allowed, 0.0, -np.inf) if additive else allowed
    return _MASKS[name].copy()
