import numpy as np

_rows = {}


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    if key_length is None:
        key_length = query_length
    name = (query_length, key_length, additive)
    if name not in _rows:
        p, j = np.ogrid[:query_length, :key_length]
        keep = j <= p + offset
        _rows[name] = np.where(keep, 0.0, -np.inf) if additive else keep
    return _rows[name].copy()

dtypes = ("float64", "float32")
