import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import math
import numpy as np

dtypes = base.DTYPES


FULL_TURN = np.float32(2 * np.pi)


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    base.check_tables(position_ids, inverse_frequencies)
    work = base.working(inverse_frequencies)
    phases = position_ids.astype(work)[:, :, None] * inverse_frequencies.astype(work)
    phases = np.where(np.isfinite(phases), np.fmod(phases, FULL_TURN), phases).astype(work)
    return base.tables_of(phases, attention_factor, inverse_frequencies.dtype)
