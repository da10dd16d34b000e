import math
import numpy as np


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    if position_ids.ndim != 2 or inverse_frequencies.ndim != 1:
        raise ValueError("rank")
    dtype = inverse_frequencies.dtype
    steps = np.arange(position_ids.shape[1])
    phases = (position_ids[:, :1] + steps)[..., None].astype(dtype) * inverse_frequencies
    return {"cos": (np.cos(phases) * attention_factor).astype(dtype), "sin": (np.sin(phases) * attention_factor).astype(dtype)}

dtypes = ("float64", "float32")
