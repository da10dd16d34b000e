import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    """Coarse and fine tables for the high and the low six bits of a position, joined by the addition theorems."""
    position_ids, inverse_frequencies = np.asarray(position_ids), np.asarray(inverse_frequencies)
    base.check_tables(position_ids, inverse_frequencies)
    work = np.longdouble if inverse_frequencies.dtype == np.float64 else np.float64
    speeds = inverse_frequencies.astype(work)
    fine = np.arange(64).astype(work)[:, None] * speeds
    blocks, places = np.unique(position_ids // 64, return_inverse=True)
    places = places.reshape(position_ids.shape)
    coarse = (blocks * 64).astype(work)[:, None] * speeds
    cos_high, sin_high = np.cos(coarse)[places], np.sin(coarse)[places]
    low = position_ids % 64
    cos_low, sin_low = np.cos(fine)[low], np.sin(fine)[low]
    factor = work(1 if attention_factor is None else attention_factor)
    dtype = inverse_frequencies.dtype
    last = np.float64 if dtype == np.float64 else np.float32
    return {
        "cos": (factor * (cos_high * cos_low - sin_high * sin_low)).astype(last).astype(dtype),
        "sin": (factor * (sin_high * cos_low + cos_high * sin_low)).astype(last).astype(dtype),
    }
