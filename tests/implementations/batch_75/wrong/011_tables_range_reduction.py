import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


TWO_PI = np.float32(2 * np.pi)  # as in the kernel


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    position_ids, inverse_frequencies = np.asarray(position_ids), np.asarray(inverse_frequencies)
    base.check_tables(position_ids, inverse_frequencies)
    phases = position_ids.astype(np.float64)[:, :, None] * inverse_frequencies.astype(np.float64)
    with np.errstate(invalid="ignore"):
        phases = np.fmod(phases, np.float64(TWO_PI))
    dtype = inverse_frequencies.dtype
    return {"cos": (attention_factor * np.cos(phases)).astype(dtype),
            "sin": (attention_factor * np.sin(phases)).astype(dtype)}
