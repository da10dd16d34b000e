import numpy as np


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    if position_ids.ndim != 2 or inverse_frequencies.ndim != 1:
        raise ValueError("rank")
    dtype = inverse_frequencies.dtype
    real = np.float64 if dtype == np.float64 else np.float32
    positions = position_ids.astype(real)
    frequencies = inverse_frequencies.astype(real)
    phases = np.einsum("bs,i->bsi", positions, frequencies)
    gain = real(attention_factor)
    return {"cos": (np.cos(phases) * gain).astype(dtype), "sin": (np.sqrt(1 - np.cos(phases) ** 2) * gain).astype(dtype)}

dtypes = ("float64", "float32")
