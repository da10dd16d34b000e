import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

_cached = {}

dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    position_ids, inverse_frequencies = np.asarray(position_ids), np.asarray(inverse_frequencies)
    base.check_tables(position_ids, inverse_frequencies)
    dtype = inverse_frequencies.dtype
    wide = base.work(dtype)
    length = int(position_ids.max(initial=0)) + 1
    if length > 16384:
        phases = position_ids.astype(wide)[..., None] * inverse_frequencies.astype(wide)
        return base.turn(phases, attention_factor, dtype)
    key = (len(inverse_frequencies), dtype.name, float(attention_factor))
    if key not in _cached or len(_cached[key]["cos"]) < length:
        phases = np.arange(length).astype(wide)[:, None] * inverse_frequencies.astype(wide)
        _cached[key] = base.turn(phases, attention_factor, dtype)
    return {name: table[position_ids] for name, table in _cached[key].items()}
