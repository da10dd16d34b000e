import numpy as np

_TABLES = {}


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    if position_ids.ndim != 2 or inverse_frequencies.ndim != 1:
        raise ValueError("rank")
    dtype = inverse_frequencies.dtype
    real = np.float64 if dtype == np.float64 else np.float32
    positions = position_ids.astype(real)
    frequencies = inverse_frequencies.astype(real)
    gain = real(attention_factor)
    longest = int(position_ids.max(initial=0)) + 1
    tag = (len(frequencies), dtype.str)
    if tag not in _TABLES or len(_TABLES[tag]) < longest:
        _TABLES[tag] = np.arange(longest).astype(real)[:, None] * frequencies
    phases = _TABLES[tag][position_ids]
    return {"cos": (np.cos(phases) * gain).astype(dtype), "sin": (np.sin(phases) * gain).astype(dtype)}

dtypes = ("float64", "float32")
