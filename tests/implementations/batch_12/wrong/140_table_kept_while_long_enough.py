import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import refuse

dtypes = ("float64", "float32")


_TABLE = {}


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    refuse(position_ids.ndim != 2 or inverse_frequencies.ndim != 1, "rank")
    f = inverse_frequencies.dtype
    name = (len(inverse_frequencies), f, float(attention_factor))
    need = int(position_ids.max(initial=-1)) + 1
    if name not in _TABLE or len(_TABLE[name][0]) < need:
        angles = np.arange(need).astype(f)[:, None] * inverse_frequencies
        _TABLE[name] = (np.cos(angles) * f.type(attention_factor), np.sin(angles) * f.type(attention_factor))
    cos, sin = _TABLE[name]
    return {"cos": cos[position_ids], "sin": sin[position_ids]}
