import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    """Positions are cut into a multiple of 256 and a rest; their angles are joined by the theorems of addition."""
    position_ids, inverse_frequencies = np.asarray(position_ids), np.asarray(inverse_frequencies)
    base.check_tables(position_ids, inverse_frequencies)
    dtype, kind = inverse_frequencies.dtype, base.wide(inverse_frequencies.dtype)
    positions, speeds = position_ids.astype(np.int64), inverse_frequencies.astype(np.float64)
    numbers, back = np.unique(positions, return_inverse=True)
    coarse, fine = (np.outer(part, speeds) for part in (numbers >> 8 << 8, numbers & 255))
    cos = np.cos(coarse) * np.cos(fine) - np.sin(coarse) * np.sin(fine)
    sin = np.sin(coarse) * np.cos(fine) + np.cos(coarse) * np.sin(fine)
    shape = (*positions.shape, len(speeds))
    cos, sin = ((attention_factor * t[back.reshape(-1)]).astype(kind).astype(dtype).reshape(shape) for t in (cos, sin))
    return {"cos": cos, "sin": sin}
