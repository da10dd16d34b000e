import numpy as np

LONGEST = 4096


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    if position_ids.ndim != 2 or inverse_frequencies.ndim != 1:
        raise ValueError("rank")
    real = np.promote_types(inverse_frequencies.dtype, np.float32)
    rows = int(position_ids.max(initial=0)) + 1
    phase = np.outer(np.arange(min(rows, LONGEST)), inverse_frequencies.astype(real)).astype(real)
    factor = real.type(attention_factor)
    at = np.minimum(position_ids, LONGEST - 1)
    return {"cos": (np.cos(phase)[at] * factor).astype(inverse_frequencies.dtype),
            "sin": (np.sin(phase)[at] * factor).astype(inverse_frequencies.dtype)}

dtypes = ("float64", "float32")
