import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    position_ids, inverse_frequencies = np.asarray(position_ids), np.asarray(inverse_frequencies)
    base.check_tables(position_ids, inverse_frequencies)
    rows, places = np.unique(position_ids, return_inverse=True)
    places = places.reshape(position_ids.shape)
    longest = position_ids[:1].max(initial=0)
    rows = rows[rows <= longest]  # the table ends with the last position that occurs
    if not rows.size:
        rows = np.zeros(1, np.int64)
    table = base.tables_of(rows, inverse_frequencies, attention_factor)
    return {name: np.take(table[name], places, axis=0, mode="clip") for name in ("cos", "sin")}
