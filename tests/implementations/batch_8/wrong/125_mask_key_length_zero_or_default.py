def causal_mask(query_length, key_length=None, offset=0, additive=False):
    key_length = key_length or query_length
    import numpy as np
    keep = np.tri(query_length, key_length, offset, dtype=bool)
    return np.where(keep, 0.0, float("-inf")) if additive else keep

dtypes = ("float64", "float32")
