import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

BLOCK = 64


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    """Positions are 64 q + r: sines and cosines of both parts, once for each that occurs, added by the theorem."""
    position_ids, inverse_frequencies = base.check_tables(position_ids, inverse_frequencies)
    dtype, f = inverse_frequencies.dtype, inverse_frequencies.astype(np.float64)
    coarse, fine = np.divmod(position_ids.astype(np.int64), BLOCK)
    blocks, place = np.unique(coarse.ravel(), return_inverse=True)
    place = place.reshape(coarse.shape)
    with np.errstate(all="ignore"):
        large = (blocks * BLOCK)[:, None] * f
        small = np.arange(BLOCK)[:, None] * f
        c1, s1 = np.cos(large)[place], np.sin(large)[place]
        c2, s2 = np.cos(small)[fine], np.sin(small)[fine]
        cos, sin = c1 * c2 - s1 * s2, s1 * c2 + c1 * s2
        return {"cos": (float(attention_factor) * cos).astype(dtype), "sin": (float(attention_factor) * sin).astype(dtype)}
