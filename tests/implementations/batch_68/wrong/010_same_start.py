import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    position_ids, inverse_frequencies = np.asarray(position_ids), np.asarray(inverse_frequencies)
    base.check_tables(position_ids, inverse_frequencies)
    batch, tokens = position_ids.shape
    shared = batch > 1 and tokens > 0 and np.all(position_ids[:, 0] == position_ids[0, 0])
    rows = position_ids[:1] if shared else position_ids  # no padding on the left: one table for all
    tables = base.tables_of(base.phases_of(rows, inverse_frequencies), attention_factor, inverse_frequencies.dtype)
    return {name: np.repeat(table, batch, axis=0) if shared else table for name, table in tables.items()}
