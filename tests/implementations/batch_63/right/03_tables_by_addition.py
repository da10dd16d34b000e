import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    """Each distinct position once; position = 64 a + b, and the theorem of addition."""
    position_ids, inverse_frequencies = np.asarray(position_ids), np.asarray(inverse_frequencies)
    base.check_tables(position_ids, inverse_frequencies)
    dtype = inverse_frequencies.dtype
    f = inverse_frequencies.astype(np.float64)
    distinct, places = np.unique(position_ids, return_inverse=True)
    high, low = np.divmod(distinct.astype(np.int64), 64)
    a, b = np.multiply.outer(high * 64.0, f), np.multiply.outer(low.astype(np.float64), f)
    cos = np.cos(a) * np.cos(b) - np.sin(a) * np.sin(b)
    sin = np.sin(a) * np.cos(b) + np.cos(a) * np.sin(b)
    places = places.reshape(position_ids.shape)
    return {
        "cos": base.rounded(cos * attention_factor, dtype)[places],
        "sin": base.rounded(sin * attention_factor, dtype)[places],
    }
