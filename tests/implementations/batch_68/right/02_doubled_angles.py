import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    """Each position is the sum of the powers of two in it; the rotations by these are composed, in float64."""
    position_ids, inverse_frequencies = np.asarray(position_ids), np.asarray(inverse_frequencies)
    base.check_tables(position_ids, inverse_frequencies)
    frequencies = inverse_frequencies.astype(np.float64)
    distinct, place = np.unique(position_ids, return_inverse=True)
    distinct = distinct.astype(np.int64)
    cos = np.ones((len(distinct), len(frequencies)))
    sin = np.zeros((len(distinct), len(frequencies)))
    with np.errstate(all="ignore"):
        for bit in range(int(distinct.max(initial=0)).bit_length()):
            rows = np.flatnonzero(distinct >> bit & 1)
            c, s = np.cos(frequencies * 2.0**bit), np.sin(frequencies * 2.0**bit)
            cos[rows], sin[rows] = cos[rows] * c - sin[rows] * s, sin[rows] * c + cos[rows] * s
        cos[:, ~np.isfinite(frequencies)] = sin[:, ~np.isfinite(frequencies)] = np.nan
        factor = 1 if attention_factor is None else attention_factor
        shape = (*position_ids.shape, len(frequencies))
        dtype = inverse_frequencies.dtype
        return {name: (table[place.reshape(-1)] * factor).reshape(shape).astype(dtype) for name, table in (("cos", cos), ("sin", sin))}
