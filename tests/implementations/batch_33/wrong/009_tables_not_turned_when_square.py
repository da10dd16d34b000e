import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = base.DTYPES


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    base.check_tables(position_ids, inverse_frequencies)
    B, S = position_ids.shape
    work = base.working(inverse_frequencies)
    phases = inverse_frequencies.astype(work)[None, :, None] * position_ids.astype(work)[:, None, :]
    if phases.shape[1] != S:
        phases = phases.swapaxes(1, 2)
    return base.tables_of(phases, attention_factor, inverse_frequencies.dtype)
