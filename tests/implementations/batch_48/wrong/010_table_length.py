import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    position_ids, inverse_frequencies = base.check_positions(position_ids, inverse_frequencies)
    kind = base.wide(inverse_frequencies)
    if not position_ids.size:
        return base.rotary_tables(position_ids, inverse_frequencies, attention_factor)
    length = int(position_ids[0].max()) + 1
    rows = np.arange(length).astype(kind)[:, None] * inverse_frequencies.astype(kind)
    table = base.tables_from_phases(rows, attention_factor, inverse_frequencies.dtype)
    return {name: np.take(rows, position_ids, axis=0, mode="clip") for name, rows in table.items()}
