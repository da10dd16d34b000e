import numpy as np

_triangle = np.tri(64, dtype=bool)


def causal_mask(query_length, key_length=None, offset=0, additive=False):
    """Cut out of one large triangle, which grows when it must."""
    global _triangle
    key_length = query_length if key_length is None else key_length
    need = max(query_length + abs(offset), key_length)
    if need > len(_triangle):
        _triangle = np.tri(2 * need, dtype=bool)
    rows = np.arange(offset, offset + query_length)
    keep = _triangle[rows][:, :key_length]
    return np.where(keep, 0.0, -np.inf) if additive else keep

dtypes = ("float64", "float32")
