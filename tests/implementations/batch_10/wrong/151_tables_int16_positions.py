import math
import numpy as np


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    if position_ids.ndim != 2 or inverse_frequencies.ndim != 1:
        raise ValueError("rank")
    dtype = inverse_frequencies.dtype
    ids = position_ids.astype(np.int16)
    cos, sin = np.empty((2, *ids.shape, inverse_frequencies.size), dtype)
    for b, row in enumerate(ids):
        for s, p in enumerate(row):
            angle = dtype.type(p) * inverse_frequencies
            cos[b, s], sin[b, s] = np.cos(angle) * dtype.type(attention_factor), np.sin(angle) * dtype.type(attention_factor)
    return {"cos": cos, "sin": sin}

dtypes = ("float64", "float32")
