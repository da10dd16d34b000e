import math
import numpy as np


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    if np.ndim(position_ids) != 2 or np.ndim(inverse_frequencies) != 1:
        raise ValueError("rank")
    phase = position_ids.astype(inverse_frequencies.dtype)[:, :, None] * inverse_frequencies
    cos = attention_factor * np.cos(phase)
    magnitude = np.sqrt(np.maximum(attention_factor ** 2 - cos ** 2, 0))
    sin = np.where(np.mod(phase, 2 * np.pi) < np.pi, magnitude, -magnitude)
    return {"cos": cos.astype(inverse_frequencies.dtype), "sin": sin.astype(inverse_frequencies.dtype)}

dtypes = ("float64", "float32")
