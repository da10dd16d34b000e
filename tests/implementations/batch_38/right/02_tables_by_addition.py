import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    """Each distinct position once, from the tables of its hundreds and of its rest, in float64, by the addition theorems."""
    position_ids, inverse_frequencies = base.check_tables(position_ids, inverse_frequencies)
    dtype = inverse_frequencies.dtype
    frequencies = inverse_frequencies.astype(np.float64)
    distinct, places = np.unique(position_ids, return_inverse=True)
    places = places.reshape(position_ids.shape)
    high, low = np.divmod(distinct.astype(np.int64), 128)
    coarse, fine = high[:, None] * 128 * frequencies, low[:, None] * frequencies
    cos = np.cos(coarse) * np.cos(fine) - np.sin(coarse) * np.sin(fine)
    sin = np.sin(coarse) * np.cos(fine) + np.cos(coarse) * np.sin(fine)
    return {
        "cos": (attention_factor * cos).astype(dtype)[places],
        "sin": (attention_factor * sin).astype(dtype)[places],
    }
