import math
import numpy as np


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    if position_ids.ndim != 2 or inverse_frequencies.ndim != 1:
        raise ValueError("rank")
    phase = np.multiply.outer(position_ids.astype(np.float32), inverse_frequencies.astype(np.float32))
    scale = inverse_frequencies.dtype.type(attention_factor)
    return {"cos": np.cos(phase).astype(inverse_frequencies.dtype) * scale, "sin": np.sin(phase).astype(inverse_frequencies.dtype) * scale}

dtypes = ("float64", "float32")
