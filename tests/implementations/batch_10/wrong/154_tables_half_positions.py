import math
import numpy as np


import ml_dtypes
dtypes = ("float64", "float32", "float16", "bfloat16")


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    if position_ids.ndim != 2 or inverse_frequencies.ndim != 1:
        raise ValueError("rank")
    dtype = inverse_frequencies.dtype
    wide = np.float64 if dtype == np.float64 else np.float32
    positions = position_ids.astype(dtype).astype(wide)              # one dtype for all that goes in
    phases = positions[..., None] * inverse_frequencies.astype(wide)
    return {"cos": (np.cos(phases) * wide(attention_factor)).astype(dtype), "sin": (np.sin(phases) * wide(attention_factor)).astype(dtype)}
