import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    position_ids, inverse_frequencies = base.check_positions(position_ids, inverse_frequencies)
    kind = base.wide(inverse_frequencies)
    positions = base.rounded(position_ids, inverse_frequencies.dtype)
    phases = positions.astype(kind)[:, :, None] * inverse_frequencies.astype(kind)
    return base.tables_from_phases(phases, attention_factor, inverse_frequencies.dtype)
