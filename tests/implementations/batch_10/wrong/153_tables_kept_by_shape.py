import math
import numpy as np


_tables = {}


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    if position_ids.ndim != 2 or inverse_frequencies.ndim != 1:
        raise ValueError("rank")
    top = int(position_ids.max(initial=0)) + 1
    found = (len(inverse_frequencies), inverse_frequencies.dtype, float(inverse_frequencies[-1]))
    if found not in _tables or len(_tables[found][0]) < top:
        phases = np.arange(top).astype(inverse_frequencies.dtype)[:, None] * inverse_frequencies
        factor = inverse_frequencies.dtype.type(attention_factor)
        _tables[found] = np.cos(phases) * factor, np.sin(phases) * factor
    cos, sin = _tables[found]
    return {"cos": cos[position_ids], "sin": sin[position_ids]}

dtypes = ("float64", "float32")
