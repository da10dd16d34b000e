import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = base.DTYPES


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    base.check_tables(position_ids, inverse_frequencies)
    B, S = position_ids.shape
    work = base.working(inverse_frequencies)
    positions = position_ids.astype(work)
    if S and (positions[:, -1] - positions[:, 0] == S - 1).all():
        positions = positions[:, :1] + np.arange(S, dtype=work)  # one row of the cache after the other
    phases = positions[:, :, None] * inverse_frequencies.astype(work)
    return base.tables_of(phases, attention_factor, inverse_frequencies.dtype)
